<%
# Machines by a column, with bars and squares: needs ``grid`` (answerd.console.grid.Grid), ``drawn``, the module that
# draws it, and ``by_address``, a function that returns the address of the same by another column.
%>
<div class="progress">
<p class="progress-of"><strong>{{grid.whole.sentence}}</strong> <span class="by">by
% for choice in grid.choices[:12]:
 <a href="{{by_address(choice)}}"{{!' aria-current="true"' if choice == grid.by else ''}}>{{choice}}</a>
% end
</span></p>
{{!drawn.bar(grid.whole)}}
% line = drawn.curve(grid, grid.whole)
% if line:
<figure>{{!line}}<figcaption class="muted">{{drawn.curve_sentence(grid.whole)}}</figcaption></figure>
% end
<ul class="sections">
% for section in grid.sections:
<li data-key="{{section.value}}"><div class="section-head">\\
% if section.where:
<a href="{{section.where}}"><b>{{section.value}}</b></a>\\
% else:
<b>{{section.value or 'no ' + grid.by}}</b>\\
% end
 <span class="muted">{{section.sentence}}</span></div>{{!drawn.bar(section)}}{{!drawn.curve(grid, section) if grid.values > 1 else ''}}\\
% if section.machines:
<div class="squares">{{!drawn.squares(section)}}</div>\\
% end
</li>
% end
</ul>
% shown = {machine.state for section in grid.sections for machine in section.machines}
% if shown:
<p class="legend muted" aria-hidden="true">
% for word, sign in drawn.SIGNS.items():
% if word in shown:
<span><span class="square {{word}}">{{sign}}</span> {{word}}</span>
% end
% end
</p>
% end
</div>
