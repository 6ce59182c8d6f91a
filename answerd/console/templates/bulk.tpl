% rebase('layout', title='Rows for ' + file, current='/console/documents')
<%
counts = change.sentence if change else ''
words = {'add': 'Add', 'update': 'Update', 'replace': 'Replace all by'}[mode]
%>
<div class="head"><h1>Rows for {{file}}</h1>
% if given:
<span class="sub">{{counted(len(given.rows), 'row')}}{{': ' + counts if counts and not change.faults else ''}}</span>
% end
</div>
<p class="note{{' bad' if failed else ''}}" role="{{'alert' if failed else 'status'}}">{{message}}</p>
% if fault:
<p class="note bad" role="alert">It cannot be read: {{fault}}.</p>
% end
% if given:
<form class="card" method="get" action="/console/inventory/proposal"><h2>Where the columns go</h2>
<input type="hidden" name="of" value="{{of}}">
<div class="row fields">
% for at, column in enumerate(given.columns):
% target = to[at] if at < len(to) else ''
<div class="field"><label for="to{{at}}">{{column or f'column {at + 1}'}}</label><select id="to{{at}}" name="to">
<option value="">(left out)</option>
% options = list(dict.fromkeys([*columns, *(['id', 'mac', 'serial', 'uuid'] if not columns else []), *([column] if column else []), *([target] if target else [])]))
% for option in options:
<option value="{{option}}"{{!' selected' if option == target else ''}}>{{option}}{{'' if option in columns else ' (a new column)'}}</option>
% end
</select></div>
% end
<div class="field"><label for="as">What to do with them</label><select id="as" name="mode">
% for value, text_of in (('add', 'Add new rows'), ('update', 'Update rows, and add new ones'), ('replace', 'Replace all rows')):
% if value in modes:
<option value="{{value}}"{{!' selected' if value == mode else ''}}>{{text_of}}</option>
% end
% end
</select></div>
<div><button>Show</button></div>
</div></form>
% end
% if change and change.faults:
<p class="note bad" role="alert"><strong>{{counted(len(change.faults), 'fault')}}</strong> in {{counted(len({row for row, _ in change.faults}), 'row')}}: nothing can be saved before they are mended below, or their columns left out.</p>
% end
% if near:
<p class="note" role="status"><strong>{{counted(len(near), 'cell')}}</strong> {{'is' if len(near) == 1 else 'are'}} one digit off a row that is there: look at them below. A row with a digit that was mistyped becomes a second machine.</p>
% end
% if consequences is not None:
<form id="editor" class="card" method="post" action="/console/inventory">
<input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="once" value="{{once()}}"><input type="hidden" name="name" value="{{name}}"><input type="hidden" name="draft" value="paste {{name}}"><input type="hidden" name="proposal" value="{{of}}"><input type="hidden" name="mode" value="{{mode}}"><input type="hidden" name="note" value="{{kept.note}}">
% for target in to if is_mapped else ():
<input type="hidden" name="to" value="{{target}}">
% end
% include('strict', strict=strict)
</form>
% include('consequences', consequences=consequences, verb='save', save=words + ' ' + counted(len(given.rows), 'row'))
% end
% if given:
<section class="card" aria-labelledby="rows-head"><h2 id="rows-head">Rows{{f': {len(shown)} of {len(given.rows):,}' if len(shown) < len(given.rows) else ''}}</h2>
<div class="scroll tall" tabindex="0" role="region" aria-label="Rows that were pasted"><table class="sheet">
<thead><tr><th scope="col">Line</th>
% for at, column in enumerate(given.columns):
<th scope="col">{{column}}</th>
% end
</tr></thead><tbody>
% for row in shown:
<tr{{!' class="faulty"' if row.faults else ''}}><td>{{row.line}}\\
% if -1 in row.faults:
<div><span class="state problem">fault</span> {{row.faults[-1]}}</div>\\
% end
</td>
% for at, cell in enumerate(row.cells):
<td{{!' class="fault"' if at in row.faults else ''}}>{{cell}}\\
% if at in row.faults:
<div><span class="state problem">fault</span> {{row.faults[at]}}</div>\\
% end
% if (row.number, at) in near:
% include('near', near=near[row.number, at])
% end
</td>
% end
</tr>
% end
</tbody></table></div></section>
% end
<form class="card" id="many" method="post" action="/console/inventory" enctype="multipart/form-data" data-draft="paste {{name}}" data-home="{{link('/console/inventory', name=name)}}" data-sent>
<h2>Mend them here, or paste others</h2>
% if not text:
<p class="muted">The text is too large to be shown here: mend the file, and upload it again.</p>
% end
% include('paste', name=name, text=text, mode=mode, may_replace=request.may_edit, request=request)
</form>
