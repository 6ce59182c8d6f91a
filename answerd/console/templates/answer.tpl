<%
# One answer, as a fragment: needs ``answer`` (answerd.console.answers.Resolved).
%>
% if answer.reason:
<p class="note bad">{{answer.reason}}</p>
% else:
<p class="muted mono">{{answer.composition}}</p>
% if answer.findings:
<div class="note bad"><p><strong>The installer would refuse it</strong></p><ul>
% for finding in answer.findings:
<li>{{finding}}</li>
% end
</ul></div>
% end
% for warning in answer.warnings:
<p class="note">{{warning}}</p>
% end
<div class="answer" tabindex="0" role="region" aria-label="Answer, {{answer.format}}">
<table>
<thead class="sr"><tr><th>Line</th><th>Text</th><th>Origin</th></tr></thead>
<tbody>
% for line in answer.lines:
<tr><td class="num">{{line.number}}</td><td>{{line.text}}</td><td class="from">\\
% for origin, where in line.origins:
<a href="{{where}}" title="{{origin}}">{{origin}}</a>\\
% end
</td></tr>
% end
</tbody>
</table>
</div>
% end
