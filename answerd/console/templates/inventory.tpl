% rebase('layout', title=file, current='/console/documents')
<%
may_edit = writable and request.may_edit_rows
is_row = edited is not None or view.adds
def value(at, cell):
    return given[at] if given is not None and at < len(given) else cell
end
%>
<div class="head"><h1>{{file}}</h1>
<span class="sub">{{counted(found, 'row')}}{{' of ' + format(total, ',') if found != total else ''}}</span>
% if exists:
<a class="sub" href="/inventory/{{quote(view.name, safe='')}}" download="{{view.name}}.csv">Download{{', with secrets in clear' if holds_secrets else ''}}</a>
<a class="sub" href="{{history}}">Text and history</a>
% end
% if request.sees_secrets and exists:
<a class="sub" href="{{view.where(secrets='' if view.shows_secrets else '1')}}">{{'Mask secrets' if view.shows_secrets else 'Show secrets'}}</a>
% end
</div>
% if message:
<div class="note {{'bad' if failed else 'good'}}" role="alert"><p>{{message}}</p>
% if problems:
<ul class="list">
% for problem in problems:
<li>{{problem}}</li>
% end
</ul>
% end
</div>
% end
% if view.of_change:
<p class="note">{{counted(found, 'row')}} of revision {{view.of_change}}. <a href="{{view.where(of_change='')}}">All rows</a></p>
% end
% if fault:
<p class="note bad" role="alert">It cannot be read: {{fault}}. Upload it anew, or mend its <a href="{{history}}">text</a>.</p>
% end
% if consequences is not None:
% include('consequences', consequences=consequences, verb=verb)
% end
% if may_edit:
<form id="editor"{{!' class="card"' if proposal else ''}} method="post" action="/console/inventory" \\
% if is_row and not proposal:
data-draft="{{draft}}" data-home="{{view.where(edit=edited.identity) if edited else view.where(add='1')}}"{{!' data-sent' if given is not None else ''}}\\
% end
>
<input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="once" value="{{once()}}"><input type="hidden" name="draft" value="{{draft}}"><input type="hidden" name="name" value="{{view.name}}"><input type="hidden" name="columns" value="{{digest}}">
<input type="hidden" name="back" value="{{view.where(line=edited.line if edited else '')}}{{'#r' + str(edited.line) if edited else ''}}">
% if proposal:
<input type="hidden" name="proposal" value="{{proposal}}">
% include('strict', strict=strict)
% elif edited is not None:
<input type="hidden" name="row" value="{{edited.identity}}"><input type="hidden" name="was" value="{{edited.digest}}">
% end
% if is_row:
% for column in columns:
<input type="hidden" name="column" value="{{column}}">
% end
% end
</form>
% end
% if gone:
<section class="card" aria-labelledby="gone"><h2 id="gone">What you wrote in columns that are gone</h2><dl>
% for column, cell in gone:
<dt>{{column}}</dt><dd class="mono">{{cell}}</dd>
% end
</dl></section>
% end
% if columns:
<form class="card" method="get" action="/console/inventory" role="search"><input type="hidden" name="name" value="{{view.name}}">
<div class="row">
<div class="field wide"><label for="q">Search</label><input id="q" name="q" value="{{view.search}}" placeholder="Any text of a row, or a MAC address in any spelling"></div>
<div><button class="main">Show</button></div>
% if may_edit and columns:
<div><a class="button" href="{{view.where(add='1')}}">Add a row</a> <a class="button" href="#many">Add many …</a></div>
% end
</div></form>
% end
<section class="card" id="inventory" aria-label="Rows">
% if not rows and not view.adds:
<div class="empty"><h2>{{'No row matches' if total else 'No row is there yet'}}</h2></div>
% elif columns:
<div class="scroll tall" tabindex="0" role="region" aria-label="Rows of {{file}}"><table class="sheet">
<thead><tr>
% for column in columns:
<th scope="col">{{column}}</th>
% end
<th scope="col"><span class="sr">Change</span></th></tr></thead>
<tbody>
% if view.adds and may_edit:
<tr class="edited">
% for at, column in enumerate(columns):
<td><input form="editor" name="cell" value="{{value(at, '')}}" aria-label="{{column}} of the new row"{{!' autofocus' if not at else ''}}></td>
% end
<td></td></tr>
<tr class="edited tools"><td colspan="{{len(columns) + 1}}"><div><button form="editor" class="main" name="do" value="save">Add</button> <button form="editor" name="do" value="preview">Preview</button> <a href="{{view.where()}}" data-throw="{{draft}}">Cancel</a>
% include('strict', strict=strict, apart=True)
</div></td></tr>
% end
% for row in rows:
% if may_edit and edited is not None and row.line == edited.line:
<tr id="r{{row.line}}" class="edited">
% for at, (column, cell) in enumerate(zip(columns, row.cells)):
% if '\n' in cell:
<td><textarea form="editor" name="cell" rows="3" aria-label="{{column}} of {{row.name}}">
{{value(at, cell)}}</textarea></td>
% else:
<td><input form="editor" name="cell" value="{{value(at, cell)}}" aria-label="{{column}} of {{row.name}}"{{!' autofocus' if not at else ''}}>\\
% if failed and message and value(at, cell) != cell:
<div class="muted">stored: {{cell or '(empty)'}}</div>\\
% end
</td>
% end
% end
<td></td></tr>
<tr class="edited tools"><td colspan="{{len(columns) + 1}}"><div><button form="editor" class="main" name="do" value="save">Save</button> <button form="editor" name="do" value="preview">Preview</button> <button form="editor" class="danger" name="do" value="preview-delete">Delete …</button> <a href="{{view.where()}}#r{{row.line}}" data-throw="{{draft}}">Cancel</a>
% include('strict', strict=strict, apart=True)
</div></td></tr>
% else:
<tr id="r{{row.line}}"{{!' class="at"' if row.line == view.line else ''}}>
% for at, cell in enumerate(row.cells):
% if not at and row.name:
<td><a href="{{machine_link(row.name)}}">{{cell or row.name}}</a>
% if row.fault:
<div><span class="state problem">problem</span> {{row.fault}}</div>
% end
</td>
% else:
<td>{{cell}}</td>
% end
% end
<td class="fit">
% if may_edit and row.identity:
<a href="{{view.where(edit=row.identity)}}#r{{row.line}}" aria-label="Edit {{row.name}}"
 hx-get="{{view.where(edit=row.identity)}}" hx-select="#main" hx-target="#main" hx-swap="outerHTML show:none" hx-push-url="true">Edit</a>
% end
</td></tr>
% end
% end
</tbody></table></div>
% end
</section>
% include('paging', at=view.page, pages=pages, what='rows', address=lambda number: view.where(page=number))
% if may_edit and not proposal:
<form class="card" id="many" method="post" action="/console/inventory" enctype="multipart/form-data" data-draft="paste {{view.name}}" data-home="{{view.where()}}"{{!' data-sent' if pasted else ''}}>
<h2>Paste or upload rows</h2>
% include('paste', name=view.name, text=pasted, mode=mode, may_replace=request.may_edit, request=request)
</form>
% end
