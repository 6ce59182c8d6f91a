<%
# Problems or notes, one for each cause: needs ``found`` (answerd.console.places.ShownCause).
%>
<ul class="list">
% for cause in found:
<li>{{!in_pieces(cause.pieces)}}\\
% if cause.machines > 1:
 <span class="muted">({{counted(cause.machines, 'machine')}})</span>\\
% end
% if cause.more:
<details><summary>{{counted(cause.more, 'more like it', 'more like it')}}</summary><ul class="list">
% for one in cause.alike:
<li>{{!in_pieces(one)}}</li>
% end
% if cause.more > len(cause.alike):
<li class="muted">and {{format(cause.more - len(cause.alike), ',')}} more: <code>answerd check --json</code> lists them</li>
% end
</ul></details>\\
% end
</li>
% end
</ul>
