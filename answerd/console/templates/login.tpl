% rebase('layout', title='Log in', current='')
<div class="login card">
  <h1>answerd</h1>
  <p class="muted">Log in with the admin token of this service (<code>SERVICE_ADMIN_TOKEN</code>).</p>
  % if message:
  <p class="note bad" role="alert">{{message}}</p>
  % end
  <form method="post" action="/console/login">
    <input type="hidden" name="next" value="{{where}}">
    <div class="field">
      <label for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
    </div>
    <button class="main">Log in</button>
  </form>
</div>
