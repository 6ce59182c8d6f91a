% rebase('layout', title='Now', current='/console/')
<div class="head"><h1>Now</h1><span class="sub">{{version}} · {{store}}</span></div>
<div{{!' hx-ext="sse" sse-connect="/events"' if events else ''}}>
  <div id="overview" hx-get="/console/overview" hx-trigger="{{'sse:state throttle:500ms, every 15s' if events else 'every 2s'}}">
  % include('overview')
  </div>
  <section class="card" aria-labelledby="asking"><h2 id="asking">Asking now</h2>
  <div id="requests" hx-get="/console/requests" hx-trigger="{{'sse:request throttle:500ms' if events else 'every 2s'}}" aria-live="off">
  % include('requests')
  </div></section>
</div>
