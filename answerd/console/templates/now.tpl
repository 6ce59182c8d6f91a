<%
rebase('layout', title='Now', current='/console/', again=2 if machines is None else 0)
# An event is shown at once, a long burst while it lasts, by time; so is what no event tells: silence, a line that moves on.
def on(event):
    return f'sse:{event} delay:200ms, every 3s'
end
%>
<div class="head"><h1>Now</h1><span class="sub">{{version}} · {{store}}</span></div>
<div hx-ext="sse" sse-connect="/events">
<div id="overview" data-in-place="overview" hx-get="{{link('/console/overview', by=request.get('by'))}}" hx-trigger="{{'load delay:700ms, ' if machines is None else ''}}{{on('state')}}">
% include('overview')
</div>
<section class="card" aria-labelledby="asking"><h2 id="asking">Asking now</h2>
<div id="requests" data-in-place="requests" hx-get="/console/requests" hx-trigger="{{on('request')}}">
% include('requests')
</div></section>
</div>
