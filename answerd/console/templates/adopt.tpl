% rebase('layout', title='Adopt ' + name, current='/console/machines')
<div class="head"><h1>Adopt {{name}} <span class="state unknown">unknown</span></h1><span class="sub">Asked {{'once' if visitor['asked'] == 1 else counted(visitor['asked'], 'time')}}, last <span title="{{exact(visitor['last'])}}">{{ago(visitor['last'])}}</span>, and {{'only the default answers it' if visitor['answered_by_default'] else 'nothing claims it'}}.</span> <a class="sub" href="/console/adopt">Adopt many …</a></div>
<section class="card" aria-labelledby="row"><h2 id="row">As a row of {{file_of(inventory)}}</h2>
% if writable and request.may_edit_rows:
% if len(inventories) > 1:
<p>Or of
% for other in inventories:
% if other != inventory:
 <a href="{{link('/console/adopt', id=name, to=other)}}">{{file_of(other)}}</a>
% end
% end
</p>
% end
<form id="editor" method="post" action="/console/inventory" data-draft="adopt {{name}} {{inventory}}" data-home="{{link('/console/adopt', id=name, to=inventory)}}">
<input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="once" value="{{once()}}"><input type="hidden" name="draft" value="adopt {{name}} {{inventory}}"><input type="hidden" name="name" value="{{inventory}}"><input type="hidden" name="columns" value="{{digest}}"><input type="hidden" name="back" value="{{machine_link(name)}}">
<div class="row fields">
% for at, (column, cell) in enumerate(columns):
<div class="field"><input type="hidden" name="column" value="{{column}}"><label for="c{{at}}">{{column}}</label><input id="c{{at}}" name="cell" value="{{cell}}"></div>
% end
</div>
% include('near', near=near)
% include('strict', strict=strict)
<div class="actions"><button class="main" name="do" value="save">Adopt</button><button name="do" value="preview">Preview what changes</button></div>
</form>
% elif writable:
<p>A token with the role inventory or admin can add this row:</p>
<pre tabindex="0" role="region" aria-label="Row">{{row}}</pre>
% else:
<p>Put this row into <code>{{file_of(inventory)}}</code>, in the columns that it has there:</p>
<pre tabindex="0" role="region" aria-label="Row">{{row}}</pre>
% end
</section>
<div class="grid">
% if writable and request.may_edit and groups:
<section class="card" aria-labelledby="join"><h2 id="join">As a member of a group</h2>
<form method="post" action="/console/document">
<input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="kind" value="group"><input type="hidden" name="member" value="{{name}}">
<div class="row"><div class="field"><label for="group">Group</label><select id="group" name="joins">
% for key in groups:
<option value="{{key.identifier}} {{key.format}}"{{!' selected' if key.format == format else ''}}>{{key.identifier}} ({{key.format}})</option>
% end
</select></div><div><button name="do" value="join">Preview what changes</button></div></div>
</form></section>
% end
<section class="card" aria-labelledby="doc"><h2 id="doc">With a document of its own</h2>
% if writable and request.may_edit:
<p>For a machine that is like no other.</p>
<div class="actions"><a class="button" href="{{link('/console/document/new', kind='machine', name=name, format=format)}}">New document</a></div>
% elif writable:
<p>A token with the role admin can write one.</p>
% else:
<p>Write a file <code>{{name}}.{{format}}</code> in the answers directory.</p>
% end
</section>
<section class="card" aria-labelledby="said"><h2 id="said">What it said</h2>
% if facts:
<dl>
% for label, values in facts:
<dt>{{label}}</dt><dd class="mono">{{values}}</dd>
% end
</dl>
% else:
<p class="muted">Nothing that could be kept.</p>
% end
</section>
</div>
