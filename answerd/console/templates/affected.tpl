% rebase('layout', title=effect.sentence, current='/console/documents')
<div class="head"><h1>{{effect.sentence}}</h1><span class="sub">if the change that was previewed is made. Nothing is stored yet.</span></div>
<section class="card" aria-label="Machines"><ul class="list names">
% for machine in machines:
<li><a href="{{machine_link(machine.identifier)}}">{{machine.identifier or 'default'}}</a> <span class="muted">{{machine.format}}</span></li>
% end
</ul></section>
% include('paging', at=at, pages=pages, what='names', address=lambda page: link('/console/document/preview', of=of, effect=str(number), page=page))
