<%
# The way to the pages before and after: needs ``at``, ``pages``, ``what`` is on them, and ``address``, a function that
# returns the address of a page.
%>
% if pages > 1:
<nav class="actions" aria-label="Pages of {{what}}">
  % if at > 1:
  <a class="button" href="{{address(at - 1)}}" rel="prev">Previous</a>
  % end
  <span class="muted">Page {{format(at, ',')}} of {{format(pages, ',')}}</span>
  % if at < pages:
  <a class="button" href="{{address(at + 1)}}" rel="next">Next</a>
  % end
</nav>
% end
