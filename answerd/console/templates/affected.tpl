% rebase('layout', title=effect.sentence, current='/console/documents')
<div class="head"><h1>{{effect.sentence}}</h1><span class="sub">if the change that was previewed is made. Nothing is stored yet.</span></div>
<section class="card" aria-label="Machines"><ul class="list names">
% for machine in machines:
<li><a href="{{machine_link(machine.identifier)}}">{{machine.identifier or 'default'}}</a> <span class="muted">{{machine.format}}</span></li>
% end
</ul></section>
% if pages > 1:
<nav class="actions" aria-label="Pages of names">
  % if at > 1:
  <a class="button" href="{{link('/console/document/preview', of=of, effect=str(number), page=at - 1)}}" rel="prev">Previous</a>
  % end
  <span class="muted">Page {{at}} of {{pages}}</span>
  % if at < pages:
  <a class="button" href="{{link('/console/document/preview', of=of, effect=str(number), page=at + 1)}}" rel="next">Next</a>
  % end
</nav>
% end
