% rebase('layout', title=title, current='')
<div class="card empty">
  <h1>{{title}}</h1>
  <p>{{message}}</p>
  <p><a href="/console/">Back to the start</a></p>
</div>
