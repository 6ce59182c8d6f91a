<%
rebase('layout', title='Check', current='/console/check', again=2 if checked.is_running else 0)
problems = checked.problems
%>
<div class="head"><h1>Check</h1><span class="sub">Every machine, member and row rendered and judged, as <code>answerd check</code> does.</span></div>
<div id="check"
% if checked.is_running:
 hx-get="/console/check" hx-trigger="load delay:700ms" hx-select="#check" hx-swap="outerHTML"
% end
>
% if checked.is_running:
<div class="card" role="status">
  <p><strong>Checking {{counted(documents, 'document')}} …</strong> <span class="muted">{{format(checked.done, ',') + ' of ' + format(checked.total, ',') + ' answers tried' if checked.total else 'finding the answers to try'}}</span></p>
  <p><progress class="long" max="{{checked.total or 1}}" value="{{checked.done}}" aria-label="Answers tried"></progress></p>
</div>
% elif checked.fault:
<p class="note bad" role="alert">The check ended early: {{checked.fault}}. Reload to try again.</p>
% end
% if problems is not None:
<p class="muted">Checked <span title="{{exact(checked.at)}}">{{ago(checked.at)}}</span>{{'' if checked.is_current else ', before the last change'}}.</p>
% end
% if problems is not None and not problems:
<div class="card empty"><h2><span class="state ok">no problems</span></h2><p>Every answer that can be tried without a request is whole and valid.</p></div>
% elif problems:
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
</div>
