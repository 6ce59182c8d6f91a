% rebase('layout', title='Log in', current='')
<div class="login card">
  <h1>answerd</h1>
  <p class="muted">Log in with your token: one of <code>SERVICE_TOKENS_FILE</code>, or <code>SERVICE_ADMIN_TOKEN</code>.</p>
  % if message:
  <p class="note bad" role="alert">{{message}}</p>
  % end
  % if kept:
  <p class="note" role="status">Your session has ended. Log in, and what you sent is there again, not stored yet.</p>
  % end
  <form method="post" action="/console/login">
    <input type="hidden" name="next" value="{{where}}">
    % if kept:
    <input type="hidden" name="form" value="{{path}}">
    % end
    % for name, value in kept:
    % if '\n' in value or '\r' in value:
    <textarea name="{{name}}" hidden>
{{value}}</textarea>
    % else:
    <input type="hidden" name="{{name}}" value="{{value}}">
    % end
    % end
    <div class="field">
      <label for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
    </div>
    <button class="main">Log in</button>
  </form>
</div>
