% for fault in faults:
<p class="note bad" role="alert">{{fault}}</p>
% end
