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
<p>
% for word, number in states:
<span class="state {{word}}">{{format(number, ',')}} {{word}}</span>
% end
</p>
<div class="actions asked"><button class="{{'danger' if order != 'disarm' else 'main'}}" name="do" value="confirm" autofocus>{{title}}</button><a class="button" href="{{back}}">Cancel</a></div>
<ul class="list names">
% for name in names:
<li><a href="{{machine_link(name)}}">{{name}}</a></li>
% end
</ul>
% if count > len(names):
<p class="muted">and {{counted(count - len(names), 'more machine')}}</p>
% end
</form>
