% if age:
<p class="note bad" role="status">The database of all nodes was {{age}}. Answers, and what is shown here, come from this node's replica.</p>
% end
<div class="tiles">
% for state, count in states:
<a class="tile" href="{{link('/console/machines', state=state)}}"><b>{{format(count, ',')}}</b><span class="state {{state}}">{{state}}</span></a>
% end
<a class="tile" href="/console/machines"><b>{{'…' if machines is None else format(machines, ',')}}</b><span class="muted">{{'counting machines' if machines is None else 'machine' if machines == 1 else 'machines'}}</span></a>
<a class="tile" href="/console/documents"><b>{{format(documents, ',')}}</b><span class="muted">{{'document' if documents == 1 else 'documents'}}</span></a>
<a class="tile" href="/console/check"><b>{{format(len(problems), ',')}}</b><span class="state {{'problem' if problems else 'ok'}}">{{'problem' if len(problems) == 1 else 'problems'}}</span></a>
</div>
% if problems:
<section class="card" aria-labelledby="now-problems"><h2 id="now-problems">Problems of the set</h2><ul class="list">
% for problem in problems[:10]:
<li>{{problem}}</li>
% end
</ul>
% if len(problems) > 10:
<p><a href="/console/check">All {{format(len(problems), ",")}}</a></p>
% end
</section>
% end
