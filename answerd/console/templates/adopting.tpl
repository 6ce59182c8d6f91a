% rebase('layout', title='Adopt machines', current='/console/machines')
<%
N = len(planned)
may_adopt = writable and request.may_edit_rows
here = link('/console/adopt', to=inventory)
%>
<div class="head"><h1>Adopt machines</h1><span class="sub">{{counted(len(visitors), 'machine')}} that asked and that nothing claims, in the order in which they first asked.</span></div>
% if message:
<div class="note bad" role="alert"><p>{{message}}</p>
% if problems:
<ul class="list">
% for problem in problems:
<li>{{problem}}</li>
% end
</ul>
% end
</div>
% end
% if plan is not None:
<section class="card" aria-labelledby="become"><h2 id="become">{{counted(N, 'machine')}} of {{file_of(inventory)}}</h2>
% if not planned:
<p class="note">There is no machine to adopt.</p>
% else:
<div class="scroll" tabindex="0" role="region" aria-label="What they become"><table>
<thead><tr><th scope="col">Machine</th><th scope="col">First asked</th><th scope="col">Name</th><th scope="col">Row</th>
% for column in plan_columns:
<th scope="col">{{column}}</th>
% end
</tr></thead><tbody>
% for row in planned:
<tr><td><a href="{{machine_link(row.machine)}}">{{row.machine}}</a></td><td class="fit" title="{{exact(row.first)}}">{{ago(row.first)}}</td><td>{{row.name}}</td><td>{{'new' if row.is_new else row.place}}
% include('near', near=row.near)
</td>
% for cell in row.cells:
<td>{{cell}}</td>
% end
</tr>
% end
</tbody></table></div>
% end
% if left_out:
<h3>{{counted(len(left_out), 'machine')}} left out</h3>
<ul class="list">
% for machine, why in left_out:
<li><a href="{{machine_link(machine.machine)}}">{{machine.machine}}</a>: {{why}}</li>
% end
</ul>
% end
</section>
% if consequences is not None:
% include('consequences', consequences=consequences, verb='save', save='Adopt ' + counted(N, 'machine'))
% end
% end
% if not visitors:
<div class="card empty"><h2>Every machine that asked is claimed</h2><p>Power on a machine: one that asks and is claimed by nothing appears here.</p></div>
% elif not may_adopt:
<section class="card" aria-label="Machines"><p>\\
% if writable:
A token with the role inventory or admin can adopt them.\\
% else:
<code>answerd adopt --name 'cn{n:04}'</code> makes a row of each in this order.\\
% end
</p>
% include('visitors', visitors=visitors, told=told, chosen=None, may_choose=False)
</section>
% else:
<form id="editor" class="card" method="post" action="/console/adopt" data-draft="adopt many {{inventory}}" data-home="{{here}}"{{!' data-sent' if request.form else ''}}>
<input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="once" value="{{once()}}"><input type="hidden" name="seen" value="{{seen}}"><input type="hidden" name="to" value="{{inventory}}">
<h2>As rows of {{file_of(inventory)}}</h2>
% if len(inventories) > 1:
<p>Or of
% for other in inventories:
% if other != inventory:
 <a href="{{link('/console/adopt', to=other)}}">{{file_of(other)}}</a>
% end
% end
</p>
% end
<div class="row">
<div class="field"><label for="pattern">Names <span class="hint">{n} is a number, {n:04} one of four digits; empty: none</span></label><input id="pattern" name="pattern" value="{{request.field('pattern')}}" placeholder="cn{n:04}" autocomplete="off"></div>
<div class="field"><label for="said">Only those that said <span class="hint">LABEL=PATTERN, one a line</span></label><textarea id="said" name="said" rows="1" placeholder="product=PowerEdge*" spellcheck="false">
{{request.field('said')}}</textarea></div>
<div class="field"><label for="count">At most <span class="hint">the first so many</span></label><input id="count" name="count" value="{{request.field('count')}}" inputmode="numeric" autocomplete="off"></div>
</div>
<p><label class="strict"><input type="checkbox" name="free" value="1"{{!' checked' if request.field('free') == '1' else ''}}> Fill the rows that have a name and no MAC address, serial number or UUID yet, in their order, in place of new rows</label></p>
% if columns:
<details{{!' open' if any(given.values()) else ''}}><summary>Cells that all get <span class="muted">{{', '.join(columns)}}</span></summary>
<div class="row fields">
% for at, column in enumerate(columns):
<div class="field"><input type="hidden" name="column" value="{{column}}"><label for="c{{at}}">{{column}}</label><input id="c{{at}}" name="cell" value="{{given.get(column, '')}}"></div>
% end
</div></details>
% end
% include('strict', strict=strict)
<div class="actions"><button class="main" name="do" value="preview">See what they become</button> <span id="selected" class="selected" aria-live="polite"></span></div>
% include('visitors', visitors=visitors, told=told, chosen=chosen, may_choose=True)
</form>
% end
