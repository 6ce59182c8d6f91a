% rebase('layout', title=title, current=current, again=1)
<div class="head"><h1>{{title}}</h1></div>
<div class="card empty" role="status" hx-get="{{address}}" hx-trigger="load delay:400ms" hx-target="#main" hx-select="#main" hx-swap="outerHTML">
  <h2>Looking through {{counted(documents, 'document')}} …</h2>
  <p>The list is made when the console is first used, and is here in a moment.</p>
</div>
