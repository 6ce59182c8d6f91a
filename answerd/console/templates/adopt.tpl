% rebase('layout', title='Adopt ' + name, current='/console/machines')
<div class="head"><h1>Adopt {{name}}</h1><span class="sub">Asked {{counted(visitor['asked'], 'time')}}, last <span title="{{exact(visitor['last'])}}">{{ago(visitor['last'])}}</span>, and {{'only the default answers it' if visitor['answered_by_default'] else 'nothing claims it'}}.</span></div>
<div class="grid">
<section class="card" aria-labelledby="row"><h2 id="row">As a row of an inventory</h2>
% if writable and request.may_edit:
<p>Opens the inventory with a row of what the machine said at its end. Fill in the rest, see what it would get, and save.</p>
<div class="actions">
% for inventory, file in inventories:
<a class="button main" href="{{link('/console/document', kind='inventory', name=inventory, format='csv', adopt=name)}}">Row in {{file}}</a>
% end
</div>
% elif writable:
<p>A token with the role admin can add this row:</p>
<pre tabindex="0" role="region" aria-label="Row">{{row}}</pre>
% else:
<p>Put this row into <code>inventory.csv</code>, in the columns that it has there:</p>
<pre tabindex="0" role="region" aria-label="Row">{{row}}</pre>
% end
</section>
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
</div>
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
