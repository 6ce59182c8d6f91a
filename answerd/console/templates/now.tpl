% rebase('layout', title='Now', current='/console/')
<div class="head"><h1>Now</h1><span class="sub">{{version}} · {{store}}</span></div>
<div id="overview" hx-get="/console/overview" hx-trigger="every 2s">
% include('overview')
</div>
<section class="card" aria-labelledby="asking"><h2 id="asking">Asking now</h2>
<div id="requests" hx-get="/console/requests" hx-trigger="every 2s">
% include('requests')
</div></section>
