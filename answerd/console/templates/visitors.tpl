<%
# The machines that nothing claims, as a fragment: needs ``visitors`` (answerd.console.adopting.Visitor), ``told``, the
# labels of what they said, ``may_choose``, and ``chosen``, the names of those that are ticked; None: all.
%>
<div class="scroll" tabindex="0" role="region" aria-label="Machines that nothing claims"><table class="stack">
<thead><tr>
% if may_choose:
<th class="fit"><input type="checkbox" data-all="machine" aria-label="Choose all machines"{{!' checked' if chosen is None else ''}}></th>
% end
<th>Machine</th><th>First asked</th><th>Last</th>
% for label in told:
<th>{{label}}</th>
% end
</tr></thead><tbody>
% for one in visitors:
<tr>
% if may_choose:
<td class="fit"><input type="checkbox" name="machine" value="{{one.name}}" aria-label="Choose {{one.name}}"{{!' checked' if chosen is None or one.name in chosen else ''}}></td>
% end
<td class="name"><a href="{{link('/console/adopt', id=one.name)}}">{{one.name}}</a></td><td class="fit" title="{{exact(one.first)}}">{{ago(one.first)}}</td><td class="fit" title="{{exact(one.last)}}">{{ago(one.last)}}</td>
% for text in one.said:
<td>{{text}}</td>
% end
</tr>
% end
</tbody></table></div>
