<%
# The reasoning behind an answer, as a fragment: needs ``steps`` (answerd.answers.why.Step) and ``label``.
%>
<div class="scroll" tabindex="0" role="region" aria-label="{{label}}"><table><tbody>
% for step in steps:
<tr><th scope="row">{{step.heading}}</th><td>{{step.sentence}}
% for detail in step.details:
<div class="muted">{{detail}}</div>
% end
</td></tr>
% end
</tbody></table></div>
