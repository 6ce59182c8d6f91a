<%
# The way to the pages before and after: needs ``at``, ``pages``, ``what`` is on them, and ``address``, a function that
# returns the address of a page.
%>
% if pages > 1:
<nav class="actions" aria-label="Pages of {{what}}">
  % if at > 1:
  <a class="button" href="{{address(at - 1)}}" rel="prev">Previous</a>
  % end
  % for number in page_numbers(at, pages):
  % if number == at:
  <span class="page-at" aria-current="page">Page {{format(at, ',')}} of {{format(pages, ',')}}</span>
  % elif number:
  <a class="button roomy" href="{{address(number)}}" aria-label="Page {{number}}">{{format(number, ',')}}</a>
  % else:
  <span class="muted roomy">…</span>
  % end
  % end
  % if at < pages:
  <a class="button" href="{{address(at + 1)}}" rel="next">Next</a>
  % end
</nav>
% end
