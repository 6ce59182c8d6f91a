<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="csp-nonce" content="{{request.nonce}}">
<meta name="htmx-config" content='{"includeIndicatorStyles": false, "allowEval": false, "allowScriptTags": false, "selfRequestsOnly": true, "historyCacheSize": 0}'>
% if defined('again') and again:
<noscript><meta http-equiv="refresh" content="{{again}}"></noscript>
% end
<title>{{title}} · answerd</title>
<link rel="icon" href="{{static('icon.svg')}}" type="image/svg+xml">
<link rel="stylesheet" href="{{static('console.css')}}">
<script src="{{static('vendor/htmx.min.js')}}" defer></script>
<script src="{{static('vendor/htmx-sse.min.js')}}" defer></script>
<script src="{{static('console.js')}}" defer></script>
% if defined('editor') and editor:
<script src="{{static('vendor/editor.min.js')}}" defer></script>
% end
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
% if request.session:
<header class="bar">
  <div class="bar-inner">
    <a class="brand" href="/console/">answer<b>d</b></a>
    <nav aria-label="Pages">
    % for where, word in navigation:
      <a href="{{where}}"{{!' aria-current="page"' if where == current else ''}}>{{word}}</a>
    % end
    </nav>
    <form class="find" method="get" action="/console/search" role="search" aria-label="Everything">
      <input name="q" aria-label="Find anything" placeholder="Find  /" autocomplete="off" data-find>
    </form>
    <form method="post" action="/console/logout">
      <input type="hidden" name="csrf" value="{{request.session.csrf}}">
      % who = request.session.who + ('' if request.session.who == request.session.role else f' · {request.session.role}')
      % if request.may_edit:
      <a class="who" href="/console/access" title="Access: you, tokens and secrets"{{!' aria-current="page"' if current == '/console/access' else ''}}>{{who}}</a>
      % else:
      <span class="who" title="{{request.session.who}}: the role {{request.session.role}}">{{who}}</span>
      % end
      <button class="link">Log out</button>
    </form>
  </div>
</header>
% end
% if request.session:
<p id="unsent" class="note bad offline" role="alert" hidden></p>
<div id="drafts" class="note" role="status" data-who="{{request.session.who}}" hidden></div>
<dialog id="again" aria-labelledby="again-head"><form method="post" action="/console/login">
<h2 id="again-head">Your session has ended</h2>
<p>Log in, and go on where you are: what you wrote is still here.</p>
<p class="note bad" role="alert" hidden></p>
<div class="field"><label for="again-token">Token</label><input id="again-token" type="password" autocomplete="current-password" required></div>
<div class="actions"><button class="main" value="log-in">Log in</button><button type="button" value="later">Later</button></div>
</form></dialog>
% end
<p id="offline" class="note bad offline" role="status" hidden>The service does not answer. What is shown may be old; this page goes on asking.</p>
<main id="main">
<p class="printed">{{title}}, as of {{exact(moment())}} · {{request.address}}</p>
% if request.session and request.get('saved').isdecimal():
<p class="note good" role="status" data-saved>Saved as version {{request.get('saved')}}\\
% if request.may_edit:
 · <a href="{{link('/console/document/earlier', revision=request.get('saved'))}}">Undo …</a>\\
% end
</p>
% if request.get('problems').isdecimal():
<p class="note" role="status">The set has {{counted(int(request.get('problems')[:9]), 'problem')}} that {{'is' if request.get('problems') == '1' else 'are'}} older than this change: <a href="/console/check">Check</a></p>
% end
% end
{{!base}}
</main>
</body>
</html>
