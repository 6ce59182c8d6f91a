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
% if taken is not None and back is not None:
<p class="note good" role="status" data-saved>Revision {{taken}} is taken back by revision {{back}} · <a href="{{link('/console/history/back', revision=back)}}">Take that back …</a></p>
% end
% if fault:
<p class="note bad" role="alert">{{fault}}</p>
% end
% if not changes:
<div class="card empty"><h2>{{'No change matches' if is_filtered else 'No change is kept' if writable else 'A directory of files has no history here'}}</h2></div>
% else:
<div class="card" id="changes"\\
% if not is_counted:
 hx-get="{{where(open=opened)}}" hx-trigger="load delay:1s" hx-select="#changes" hx-swap="outerHTML"\\
% end
><div class="scroll" tabindex="0" role="region" aria-label="Changes"><table class="stack">
<thead><tr><th>When</th><th>Who</th><th>What</th><th>Document</th><th>Machines</th><th>Note</th>\\
% if writable and request.may_edit:
<th><span class="sr">Undo</span></th>\\
% end
</tr></thead><tbody>
% day = ''
% for made in changes:
<%
change, one = made.newest, len(made.documents) == 1
is_open = any(document.revision == opened for document in made.documents)
unfold = where(open='' if is_open else change.revision)
of_day = exact(change.when)[:10]
touched = figures.get((change.revision, change.token))
%>
% if of_day != day:
<tr class="day"><th colspan="7" scope="rowgroup"><a href="{{where(day=of_day, before='')}}">{{of_day}}</a></th></tr>
% day = of_day
% end
<tr id="c{{change.revision}}"><td class="fit" title="{{exact(change.when)}}">{{exact(change.when)[11:16]}} <span class="muted">{{ago(change.when)}}</span></td><td><a href="{{where(who=change.who, before='')}}">{{change.who}}</a></td><td><a href="{{unfold}}#c{{change.revision}}" aria-expanded="{{'true' if is_open else 'false'}}" aria-label="{{made.what}}, difference of revision {{change.revision}}" hx-get="{{unfold}}" hx-select="#changes" hx-target="#changes" hx-swap="outerHTML show:none" hx-push-url="true">{{made.what}}</a></td><td>\\
% if not one:
{{counted(len(made.documents), 'document')}}{{'' if made.is_whole else ' or more'}}: \\
% end
% for document in made.documents[:named]:
<span class="whole"><a href="{{document_link(document.key.kind, document.key.identifier, document.key.format)}}">{{document.key}}</a></span>\\
% end
% if len(made.documents) > named:
…\\
% end
</td><td class="fit">\\
% if touched is not None:
{{counted(touched.machines, 'machine')}}\\
% if touched.losing:
 <span class="state problem">{{format(touched.losing, ',')}} lost {{'its' if touched.losing == 1 else 'their'}} answer</span>\\
% end
% end
</td><td>{{change.note}}</td>\\
% if writable and request.may_edit:
<td class="fit">\\
% if one:
<a href="{{link('/console/document/earlier', revision=change.revision)}}" aria-label="Undo revision {{change.revision}} of {{change.key}}">Undo …</a>\\
% else:
<a href="{{link('/console/history/back', revision=change.revision)}}" aria-label="Take back all of revision {{change.revision}}">Take back all …</a>\\
% end
</td>\\
% end
</tr>
% if is_open:
% for document, lines in unfolded:
<tr><td colspan="7">\\
% if not one:
<p><strong>{{document.key}}</strong> {{document.what}} <span class="muted">revision {{document.revision}}</span>\\
% if writable and request.may_edit:
 <a href="{{link('/console/document/earlier', revision=document.revision)}}" aria-label="Undo revision {{document.revision}} of {{document.key}}">Undo this one …</a>\\
% end
</p>\\
% end
<pre class="diff" tabindex="0" role="region" aria-label="Difference of revision {{document.revision}}">
% for line in lines:
<span class="{{diff_class(line)}}">{{line}}</span>\\
% end
</pre></td></tr>
% end
% if len(made.documents) > len(unfolded):
<tr><td colspan="7" class="muted">and {{counted(len(made.documents) - len(unfolded), 'more document')}}, each with its own history</td></tr>
% end
% end
% end
</tbody></table></div>
% if has_older:
<p><a href="{{where(before=changes[-1].documents[-1].revision)}}">Older</a></p>
% end
</div>
% end
