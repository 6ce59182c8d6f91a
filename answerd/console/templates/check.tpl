% rebase('layout', title='Check', current='/console/check')
<div class="head"><h1>Check</h1><span class="sub">Every machine, member and row rendered and judged, as <code>answerd check</code> does.</span></div>
% if not problems:
<div class="card empty"><h2><span class="state ok">no problems</span></h2><p>Every answer that can be tried without a request is whole and valid.</p></div>
% else:
<section class="card" aria-labelledby="problems"><h2 id="problems">{{counted(len(problems), 'problem')}}</h2>
<ul class="list">
% for problem in problems[:1000]:
<li>{{problem}}</li>
% end
</ul>
% if len(problems) > 1000:
<p class="muted">{{counted(len(problems) - 1000, 'more problem')}}: run <code>answerd check</code>.</p>
% end
</section>
% end
