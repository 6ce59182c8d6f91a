<%
# What saving would change, as a fragment: needs ``consequences`` (answerd.console.backend.Consequences).
pending = consequences.pending
%>
<section class="card" id="consequences" aria-labelledby="consequences-head"
% if pending:
 hx-get="{{link('/console/document/preview', of=pending)}}" hx-trigger="load delay:500ms" hx-swap="outerHTML"
% end
><h2 id="consequences-head">What saving would change</h2>
% if pending:
<p role="status">Comparing {{format(consequences.total, ',') + ' ' if consequences.total else ''}}answers, before and after …</p>
<p><progress class="long" max="{{consequences.total or 1}}" value="{{consequences.compared}}" aria-label="Answers compared"></progress></p>
<noscript><p class="muted">Press <em>Preview what changes</em> again in a moment: what is found is kept.</p></noscript>
% elif consequences.refused:
<p class="note bad">It would be refused: {{consequences.refused}}</p>
<ul class="list">
% for problem in consequences.problems:
<li>{{problem}}</li>
% end
</ul>
% elif not consequences.changes:
<p class="note good">No machine's answer changes.</p>
% else:
<p>{{counted(consequences.count, 'answer')}} of {{format(consequences.compared, ',')}} would change.</p>
% for change in consequences.changes:
<details{{!' open' if len(consequences.changes) < 4 else ''}}><summary>{{change.title}}</summary>
<pre class="diff" tabindex="0" role="region" aria-label="{{change.title}}">
% for line in change.lines:
<span class="{{diff_class(line)}}">{{line}}</span>\\
% end
</pre></details>
% end
% end
</section>
