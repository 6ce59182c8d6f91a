% rebase('layout', title='History', current='/console/history')
<div class="head"><h1>History</h1><span class="sub">Accepted changes of all documents, the latest first.</span></div>
% if not changes:
<div class="card empty"><h2>{{'No change is kept' if writable else 'A directory of files has no history here'}}</h2></div>
% else:
<div class="card"><div class="scroll" tabindex="0" role="region" aria-label="Changes"><table class="stack">
<thead><tr><th>When</th><th>Who</th><th>What</th><th>Document</th><th>Note</th>\\
% if writable and request.may_edit:
<th><span class="sr">Undo</span></th>\\
% end
</tr></thead><tbody>
% for change in changes:
<tr><td class="fit" title="{{exact(change.when)}}">{{ago(change.when)}}</td><td>{{change.who}}</td><td>{{change.what}}</td><td><a href="{{document_link(change.key.kind, change.key.identifier, change.key.format)}}">{{change.key}}</a></td><td>{{change.note}}</td>\\
% if writable and request.may_edit:
<td class="fit"><a href="{{link('/console/document/earlier', revision=change.revision)}}" aria-label="Undo revision {{change.revision}} of {{change.key}}">Undo …</a></td>\\
% end
</tr>
% end
</tbody></table></div>
% if has_older:
<p><a href="{{link('/console/history', before=changes[-1].revision)}}">Older</a></p>
% end
</div>
% end
