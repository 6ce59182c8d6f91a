% rebase('layout', title='History', current='/console/history')
<%
def where(**changes):
    values = {'day': wanted.day, 'who': wanted.who, 'document': wanted.document, 'before': wanted.before, **changes}
    return link('/console/history', **values)
end
is_filtered = wanted.day or wanted.who or wanted.document
%>
<div class="head"><h1>History</h1><span class="sub">Accepted changes of all documents, the latest first.</span></div>
% if writable:
<form class="card" method="get" action="/console/history" role="search"><div class="row">
<div class="field"><label for="day">Day <span class="hint">UTC</span></label><input id="day" name="day" type="date" value="{{wanted.day}}"></div>
<div class="field"><label for="who">Who</label><input id="who" name="who" value="{{wanted.who}}"></div>
<div class="field wide"><label for="document">Document or machine</label><input id="document" name="document" value="{{wanted.document}}" placeholder="A name, a MAC address, inventory"></div>
<div><button class="main">Show</button></div>
% if is_filtered:
<div><a class="button" href="/console/history">All</a></div>
% end
</div></form>
% end
% if fault:
<p class="note bad" role="alert">{{fault}}</p>
% end
% if not changes:
<div class="card empty"><h2>{{'No change matches' if is_filtered else 'No change is kept' if writable else 'A directory of files has no history here'}}</h2></div>
% else:
<div class="card" id="changes"><div class="scroll" tabindex="0" role="region" aria-label="Changes"><table class="stack">
<thead><tr><th>When</th><th>Who</th><th>What</th><th>Document</th><th>Note</th>\\
% if writable and request.may_edit:
<th><span class="sr">Undo</span></th>\\
% end
</tr></thead><tbody>
% day = ''
% for change in changes:
<%
is_open = change.revision == opened
unfold = where(open='' if is_open else change.revision)
of_day = exact(change.when)[:10]
%>
% if of_day != day:
<tr class="day"><th colspan="6" scope="rowgroup"><a href="{{where(day=of_day, before='')}}">{{of_day}}</a></th></tr>
% day = of_day
% end
<tr id="c{{change.revision}}"><td class="fit" title="{{exact(change.when)}}">{{exact(change.when)[11:16]}} <span class="muted">{{ago(change.when)}}</span></td><td><a href="{{where(who=change.who, before='')}}">{{change.who}}</a></td><td><a href="{{unfold}}#c{{change.revision}}" aria-expanded="{{'true' if is_open else 'false'}}" aria-label="{{change.what}}, difference of revision {{change.revision}}" hx-get="{{unfold}}" hx-select="#changes" hx-target="#changes" hx-swap="outerHTML show:none" hx-push-url="true">{{change.what}}</a></td><td><a href="{{document_link(change.key.kind, change.key.identifier, change.key.format)}}">{{change.key}}</a></td><td>{{change.note}}</td>\\
% if writable and request.may_edit:
<td class="fit"><a href="{{link('/console/document/earlier', revision=change.revision)}}" aria-label="Undo revision {{change.revision}} of {{change.key}}">Undo …</a></td>\\
% end
</tr>
% if is_open:
<tr><td colspan="6"><pre class="diff" tabindex="0" role="region" aria-label="Difference of revision {{change.revision}}">
% for line in difference:
<span class="{{diff_class(line)}}">{{line}}</span>\\
% end
</pre></td></tr>
% end
% end
</tbody></table></div>
% if has_older:
<p><a href="{{where(before=changes[-1].revision)}}">Older</a></p>
% end
</div>
% end
