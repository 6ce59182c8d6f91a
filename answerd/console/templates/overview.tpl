% include('faults', faults=faults)
% if age:
<p class="note bad" role="status">The database of all nodes was {{age}}. Answers, and what is shown here, come from this node's replica.</p>
% end
<div class="tiles">
% for state, count in states:
<a class="tile" data-key="{{state}}" href="{{link('/console/machines', state=state, sort='since', desc='1')}}"><b>{{format(count, ',')}}</b><span class="state {{state}}">{{state}}</span></a>
% end
</div>
<div class="tiles totals">
<a class="tile" href="/console/machines"><b>{{'…' if machines is None else format(machines, ',')}}</b><span class="muted">{{'counting machines' if machines is None else 'machine' if machines == 1 else 'machines'}}</span></a>
% if inventories and (rows or request.may_edit):
<a class="tile" href="{{link('/console/inventory', name=inventories[0]) if len(inventories) == 1 else link('/console/documents', kind='inventory')}}"><b>{{format(rows, ',')}}</b><span class="muted">{{'row' if rows == 1 else 'rows'}} of {{'the inventory' if len(inventories) == 1 else 'inventories'}}</span></a>
% end
<a class="tile" href="/console/documents"><b>{{format(documents, ',')}}</b><span class="muted">{{'document' if documents == 1 else 'documents'}}</span></a>
<a class="tile" href="/console/check"><b>{{format(problems, ',')}}{{'' if is_checked else ' …'}}</b><span class="state {{'problem' if problems else 'ok' if is_checked else 'new'}}">{{'problem' if problems == 1 else 'problems'}}</span></a>
</div>
% if failed:
<section class="card failure" aria-labelledby="now-failed"><h2 id="now-failed">Failed last</h2>
<ul class="failures">
% for failure in failed:
% first, found = failure.machines[0], link('/console/machines', q='cause:' + failure.cause, sort='since', desc='1')
<li data-key="{{failure.cause}}"><div><strong>{{first.message or ('Its starts are used up.' if first.state == 'exhausted' else 'It did not say why.')}}</strong>
<p>\\
% for machine in failure.machines:
<span class="whole"><a href="{{machine_link(machine.name)}}">{{machine.name}}</a> <span class="muted" title="{{exact(machine.since)}}">{{machine.state + ' ' if machine.state != 'failed' else ''}}{{ago(machine.since)}}</span></span> \\
% end
% if failure.count > len(failure.machines):
<a href="{{found}}">all {{format(failure.count, ',')}}</a>\\
% end
</p></div>
% if request.may_operate:
<form method="post" action="/console/machines"><input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="back" value="{{found}}"><input type="hidden" name="all" value="1"><button name="do" value="arm" aria-label="Arm {{'it' if failure.count == 1 else 'all ' + format(failure.count, ',')}}: {{first.message or first.state}}">{{'Arm it …' if failure.count == 1 else 'Arm all ' + format(failure.count, ',') + ' of these …'}}</button></form>
% end
</li>
% end
</ul>
<p><a href="{{link('/console/machines', q='state:failed state:exhausted since:1h', sort='since', desc='1')}}">Failed in the last hour</a>
% if all_failed > sum(len(failure.machines) for failure in failed):
· <a href="{{link('/console/machines', q='state:failed state:exhausted', sort='since', desc='1')}}">all {{format(all_failed, ',')}}</a>
% end
</p></section>
% end
% if grid and grid.whole.total:
<section class="card" aria-labelledby="now-progress"><h2 id="now-progress">Progress</h2>
% include('progress', grid=grid, drawn=drawn, by_address=lambda choice: link('/console/', by=choice))
<p><a href="{{link('/console/machines', view='grid', by=grid.by)}}">All {{counted(grid.values, 'value')}} of {{grid.by}}, one square for each machine</a></p>
</section>
% end
% if first_problems:
<section class="card" aria-labelledby="now-problems"><h2 id="now-problems">Problems</h2>
% include('causes', found=first_problems)
% if problems > len(first_problems):
<p><a href="/console/check">All {{format(problems, ",")}}</a></p>
% end
</section>
% end
