<%
title = {'arm': 'Arm', 'disarm': 'Disarm', 'forget': 'Forget'}[order] + ' ' + counted(count, 'machine')
rebase('layout', title=title, current='/console/machines')
it = 'the machine' if count == 1 else 'each of them'
%>
<div class="head"><h1>{{title}}?</h1></div>
<form class="card" method="post" action="/console/machines">
<input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="once" value="{{once()}}"><input type="hidden" name="given" value="{{given}}"><input type="hidden" name="back" value="{{back}}">
% if order == 'arm':
<p class="note bad"><strong>Disks will be wiped.</strong> At its next boot from the network {{it}} may install once more, and an install erases the disks that its answer names.</p>
% elif order == 'disarm':
<p class="note">Nothing is wiped. From now on {{it}} counts as installed, and gets no install until it is armed.</p>
% else:
<p class="note bad"><strong>The state and its history are erased, for good.</strong> What is forgotten is new: at its next boot from the network {{it}} may install, and an install erases the disks that its answer names.</p>
% end
% if count > 1:
<p>
% for word, number in states:
<span class="state {{word}}">{{format(number, ',')}} {{word}}</span>
% end
</p>
% end
<%
FIRST = 10
shown = [at for at, word in enumerate(told) if any(values[at] for _, _, values in hit)]
def lines(some):
    return [(name, state, [values[at] for at in shown]) for name, state, values in some]
end
%>
<div class="scroll" tabindex="0" role="region" aria-label="Which machines"><table class="hit">
<thead><tr><th scope="col">Machine</th><th scope="col">State</th>
% for at in shown:
<th scope="col">{{told[at]}}</th>
% end
</tr></thead><tbody>
% for name, state, values in lines(hit[:FIRST]):
<tr><td><a href="{{machine_link(name)}}">{{name}}</a></td><td><span class="state {{state}}">{{state}}</span></td>
% for value in values:
<td>{{value}}</td>
% end
</tr>
% end
</tbody></table></div>
% if count > FIRST:
<p>and {{counted(count - FIRST, 'more machine')}}, named below.</p>
% end
<div class="actions asked"><a class="button" href="{{back}}" autofocus>Cancel</a><button class="{{'danger' if order != 'disarm' else 'main'}}" name="do" value="confirm">{{title}}</button></div>
% if count > FIRST:
<div class="scroll" tabindex="0" role="region" aria-label="The other machines"><table class="hit"><tbody>
% for name, state, values in lines(hit[FIRST:]):
<tr><td><a href="{{machine_link(name)}}">{{name}}</a></td><td><span class="state {{state}}">{{state}}</span></td>
% for value in values:
<td>{{value}}</td>
% end
</tr>
% end
</tbody></table></div>
% end
% if count > len(names):
<p class="muted">and {{counted(count - len(names), 'more machine')}}</p>
% end
</form>
