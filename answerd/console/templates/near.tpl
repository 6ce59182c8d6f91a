<%
# Rows that are one digit off, as a fragment: needs ``near`` (answerd.console.near.NearRow).
%>
% for one in near:
<div class="near">one digit off: <a href="{{one.address}}">{{one.place}}</a>{{f' ({one.name})' if one.name else ''}} has <span class="mono">{{one.before}}<mark>{{one.digit}}</mark>{{one.after}}</span></div>
% end
