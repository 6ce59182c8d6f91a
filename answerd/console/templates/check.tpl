<%
rebase('layout', title='Check', current='/console/check', again=2 if checked.is_running else 0)
is_whole = checked.problems is not None
%>
<div class="head"><h1>Check</h1><span class="sub">Every machine, member and row rendered and judged, as <code>answerd check</code> does.</span></div>
<div id="check" data-in-place="check"
% if checked.is_running:
 hx-get="/console/check" hx-trigger="load delay:700ms" hx-select="#check" hx-swap="outerHTML"
% end
>
% include('faults', faults=faults)
% if checked.is_running:
<div class="card" role="status">
  <p><strong>Checking {{counted(documents, 'document')}} …</strong> <span class="muted">{{format(checked.done, ',') + ' of ' + format(checked.total, ',') + ' answers tried' if checked.total else 'finding the answers to try'}}</span></p>
  <p><progress class="long" max="{{checked.total or 1}}" value="{{checked.done}}" aria-label="Answers tried"></progress></p>
</div>
% elif checked.fault:
<p class="note bad" role="alert">The check ended early: {{checked.fault}}. Reload to try again.</p>
% end
% if is_whole:
<p class="muted">Checked <span title="{{exact(checked.at)}}">{{ago(checked.at)}}</span>{{'' if checked.is_current else ', before the last change'}}. What has one cause is told once.</p>
% end
% if is_whole and not problems:
<div class="card empty"><h2><span class="state ok">no problems</span></h2><p>Every answer that can be tried without a request is whole and valid.</p></div>
% elif problems:
<section class="card" aria-labelledby="problems"><h2 id="problems">{{counted(len(checked.problems), 'problem')}}</h2>
% include('causes', found=problems)
% if len(checked.problems) > len(problems):
<p class="muted">{{counted(len(checked.problems) - len(problems), 'more problem')}}: run <code>answerd check</code>.</p>
% end
</section>
% end
% if notes:
<section class="card" aria-labelledby="notes"><h2 id="notes">{{counted(len(checked.notes), 'note')}} <span class="muted">no fault, but worth a look</span></h2>
% include('causes', found=notes)
% if len(checked.notes) > len(notes):
<p class="muted">{{counted(len(checked.notes) - len(notes), 'more note')}}: run <code>answerd check</code>.</p>
% end
</section>
% end
</div>
