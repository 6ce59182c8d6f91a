% rebase('layout', title='Settings', current='/console/settings')
<div class="head"><h1>Settings</h1><span class="sub">As this service runs with them. <code>answerd config</code> shows where each came from.</span></div>
% if nodes:
<section class="card" aria-labelledby="nodes"><h2 id="nodes">Nodes</h2>
% for difference in differences:
<p class="problem">{{difference}}</p>
% end
<div class="scroll" tabindex="0" role="region" aria-label="Table of nodes"><table class="stack">
<thead><tr><th>Node</th><th>Version</th><th>Seen</th><th>Silent</th><th>Changes behind</th><th>Events waiting</th></tr></thead><tbody>
% for node in nodes:
<tr><td class="mono">{{node['node']}}</td><td>{{node['version']}}</td><td>{{node['seen']}}</td><td>{{round(node['silent_seconds'])}} s</td><td>{{node['behind']}}</td><td>{{node['waiting']}}</td></tr>
% end
</tbody></table></div>
<p class="muted">The nodes of this database. Each speaks every five seconds; one that is silent answers its machines from its replica, if it runs.</p>
</section>
% end
<div class="card"><div class="scroll" tabindex="0" role="region" aria-label="Settings"><table class="stack last">
<thead><tr><th>Setting</th><th>Value</th><th>Meaning</th></tr></thead><tbody>
% for name, value, meaning in settings:
<tr><td class="mono">{{name}}</td><td class="mono">{{value}}</td><td>{{meaning}}</td></tr>
% end
</tbody></table></div></div>
% if warnings:
<section class="card" aria-labelledby="warnings"><h2 id="warnings">Warnings</h2><ul class="list">
% for warning in warnings:
<li>{{warning}}</li>
% end
</ul></section>
% end
