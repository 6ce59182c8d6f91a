% rebase('layout', title='Access', current='/console/access')
<div class="head"><h1>Access</h1><span class="sub">You are {{request.session.who}}, with the role {{request.session.role}}.</span></div>
% if message:
<p class="note {{'bad' if failed else 'good'}}" role="alert"{{!'' if failed else ' data-saved'}}>{{message}}</p>
% end
% if made:
<section class="card" aria-labelledby="made" data-saved><h2 id="made">The token of {{made.line.name}}</h2>
<p>Hand it over now: it is shown only here, and kept nowhere.</p>
<pre tabindex="0" role="region" aria-label="Token">{{made.token}}</pre>
% if made.is_in_force:
<p class="note good">It is in force. Log in with it at <code>{{request.scheme}}://{{request.host}}/console/</code>.</p>
% else:
<p class="note">It is not in force yet: {{why_no_tokens or 'the file could not be written'}}. Add this line to {{path or 'a file that SERVICE_TOKENS_FILE names'}}, then send SIGHUP to the service{{'' if path else ', or restart it'}}:</p>
<pre tabindex="0" role="region" aria-label="Line of the token">{{made.line}}</pre>
% end
</section>
% end
% if asked:
<section class="card" aria-labelledby="asked"><h2 id="asked">Revoke the token {{asked}}?</h2>
<p class="note bad">Whoever uses it is logged out at once, and a program that has it gets 401. It cannot be taken back: make a new one.</p>
<form method="post" action="/console/access"><input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="once" value="{{once()}}"><input type="hidden" name="name" value="{{asked}}">
<div class="actions"><a class="button" href="/console/access" autofocus>Cancel</a><button class="danger" name="do" value="revoke">Revoke {{asked}}</button></div></form>
</section>
% end
<section class="card" aria-labelledby="tokens"><h2 id="tokens">Tokens</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Table of tokens"><table class="stack">
<thead><tr><th>Name</th><th>Role</th><th>Last day</th><th><span class="sr">Revoke</span></th></tr></thead><tbody>
% for role in without_name:
<tr><td class="mono">SERVICE_ADMIN_TOKEN</td><td>{{role}}</td><td></td><td></td></tr>
% end
% for name, role, until in tokens:
<tr><td class="mono">{{name}}</td><td>{{role}}</td><td>{{until}}</td><td class="fit">\\
% if not why_no_tokens:
<form method="post" action="/console/access"><input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="name" value="{{name}}"><button class="link" name="do" value="ask-revoke" aria-label="Revoke {{name}} …">Revoke …</button></form>\\
% end
</td></tr>
% end
</tbody></table></div>
% if why_no_tokens:
<p class="note">Tokens cannot be changed here: {{why_no_tokens}}. A new one is made below, with its line for the file; to take one back, remove its line, and send SIGHUP to the service.</p>
% end
<form method="post" action="/console/access" data-draft="token" data-home="/console/access"{{!' data-sent' if request.field('do') == 'token' else ''}}>
<input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="once" value="{{once()}}">
<div class="row">
<div class="field"><label for="token-name">Name of who gets it</label><input id="token-name" name="name" value="{{request.field('name') if request.field('do') == 'token' else ''}}" required maxlength="64"></div>
<div class="field"><label for="role">Role</label><select id="role" name="role">
% for role, words in may.items():
<option{{!' selected' if str(role) == request.field('role', 'read') else ''}}>{{role}}</option>
% end
</select></div>
<div class="field"><label for="until">Last day <span class="hint">empty: until it is revoked</span></label><input id="until" name="until" type="date" value="{{request.field('until')}}"></div>
<div><button class="main" name="do" value="token">Make a token</button></div>
</div></form>
<p class="muted below">Nodes that share a database have a file of tokens each. At a terminal <code>answerd token NAME --role ROLE</code> makes one.</p>
</section>
<section class="card" aria-labelledby="secrets"><h2 id="secrets">Secrets</h2>
% if secrets:
<ul class="list names">
% for place, fault in secrets:
<li><code>{{place}}</code>
% if fault:
<span class="state problem">cannot be read</span> {{fault}}
% end
</li>
% end
</ul>
% else:
<p class="muted">There is none.</p>
% end
<p class="muted">A document uses one as <code>{{'{{ secret.NAME }}'}}</code>. Its value is shown here to nobody.</p>
% if why_not:
<p class="note">No secret can be written here: {{why_not}}.</p>
% else:
<form method="post" action="/console/access" autocomplete="off">
<input type="hidden" name="csrf" value="{{request.session.csrf}}"><input type="hidden" name="once" value="{{once()}}">
<div class="row">
<div class="field"><label for="secret">Name</label><input id="secret" name="secret" value="{{request.field('secret')}}" required pattern="[A-Za-z0-9_\-]+" placeholder="root-hash"></div>
<div class="field"><label for="machine">Of the machine <span class="hint">empty: of all</span></label><input id="machine" name="machine" value="{{request.field('machine')}}"></div>
</div>
<p></p>
<div class="field"><label for="value">Value <span class="hint">replaces the one that is there</span></label><textarea id="value" name="value" rows="3" required spellcheck="false" autocomplete="off">
{{request.field("value")}}</textarea></div>
<div class="actions"><button class="main" name="do" value="secret">Write the secret</button></div>
</form>
% end
</section>
<section class="card" aria-labelledby="roles"><h2 id="roles">Roles</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Table of roles"><table class="stack last">
<thead><tr><th>Role</th><th>May</th></tr></thead><tbody>
% for role, words in may.items():
<tr><td>{{role}}</td><td>{{words.replace('`', '')}}</td></tr>
% end
</tbody></table></div></section>
