<%
# The notice of an order that was given: needs ``done`` (answerd.console.machines.Given, or None), ``notice``, by which
# it is known, and ``back``.
%>
% if done is not None:
<form class="note good" method="post" action="/console/machines" role="status">
<input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="once" value="{{once()}}"><input type="hidden" name="given" value="{{notice}}"><input type="hidden" name="back" value="{{back}}">
<p>{{done.sentence}}
% if done.undone_by is not None:
· <button class="link" name="do" value="undo" title="{{done.undone_by.value}} {{counted(len(done.undoes), 'machine')}}">Undo</button> <span class="muted">{{'disarms what is still armed: it counts as installed' if done.undone_by == 'disarm' else 'arms again what was armed'}}</span>
% end
</p></form>
% end
