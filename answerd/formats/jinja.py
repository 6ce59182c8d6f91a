"""Documents of the text family that Jinja2 fills, where they say so: ``# answer: template jinja``.

A text is compiled once and filled for each request. Rules: docs/templates.md#jinja. What a text may use is in
`answerd.formats.jinja_words`. Jinja's own sandbox stands below that: here attributes, methods, filters, tests and
functions are tables, and loops count their turns.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from types import CodeType, TracebackType
from typing import Any, Final, NamedTuple

from jinja2 import TemplateRuntimeError, TemplateSyntaxError, Undefined, UndefinedError, nodes
from jinja2.environment import Template as Compiled
from jinja2.runtime import Context, LoopContext, Macro, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import Namespace, missing
from jinja2.visitor import NodeTransformer

from answerd.errors import CannotFill
from answerd.formats.family import Slot
from answerd.formats.filters import LARGEST_ANSWER, LONGEST_FILTERED, Lookup, too_large
from answerd.formats.jinja_words import (
    FOR_EACH_ITEM,
    FOR_EACH_PART,
    INSERTED,
    LARGEST_NUMBER,
    METHODS,
    OF_A_LOOP,
    OPERATORS,
    TESTS,
    WORDS,
    Filling,
    Method,
    Refused,
    calculated,
    counted_range,
    counted_text,
    described,
    is_bounded,
    scalar,
    taking_the_context,
    text_of,
)
from answerd.formats.template import LONE_SURROGATE, SECRET_NAME, SECRETS, Placeholder, Template, refuse_unusable
from answerd.formats.text import LINE, line_in_document
from answerd.identity import folded
from answerd.memo import remembered
from answerd.short_texts import brief
from answerd.suggestion import did_you_mean

LONGEST: Final = 65_536
"""Characters of a document that Jinja fills. Its reader takes 0.5 µs for each and lets nothing else run meanwhile."""

MOST_TAGS: Final = 1_000
"""Tags of a document: ``{{`` and ``{%``. Python's compiler takes 0.05 ms for each, and lets nothing else run."""

DEEPEST_EXPRESSION: Final = 40
"""Levels of an expression. Python's compiler takes some 90 parentheses within each other."""

DEEPEST_STATEMENT: Final = 12
"""Levels of ``for``, ``if`` and ``macro`` within each other. Python's compiler takes 20."""

LONG_SIZE: Final = 8_000
"""The size of a text, without the turns of its loops, that takes some milliseconds to fill."""

OWN_LABELS: Final = ("report", "state", "machine", "group")
"""Labels of the service. They are looked up when they are used: the URL of ``report`` is told by being there."""

FUNCTIONS: Final = ("facts", "values", "secret", "range", "namespace")
"""The names that are no labels."""

RESERVED: Final = frozenset({*OWN_LABELS, *FUNCTIONS, "loop", "self", "super", "caller", "varargs", "kwargs"})
"""Names that no text gives to a variable."""

_PIECES_AT_ONCE: Final = 4_096
"""Pieces of a text that are put together at once. A million takes 50 ms to be dropped, and lets nothing else run."""

_MOST_REFILLED: Final = 16
"""Times that a text is filled anew for a label without a value: most are known before, but not those that it works out,
nor those that it tests in one place and needs in another."""

_STATEMENTS: Final = (nodes.For, nodes.If, nodes.Macro, nodes.Assign, nodes.AssignBlock)
_THERE_ARE: Final = "there are for, if, set, macro and raw"


# --- names and values -------------------------------------------------------------------------------------------------


_NOT_NAMED: Final = "the request has no fact of the name in the brackets of facts[…], which the answer needs"


class _NoValue(UndefinedError):
    """A name that has no value was used."""

    def __init__(self, label: str, message: str) -> None:
        super().__init__(message)
        self.label = label


class _Missing(StrictUndefined):
    """A name without a value. It may be tested and given a default; any other use ends the filling."""

    __slots__ = ()

    def __init__(self, hint: str | None = None, obj: Any = missing, name: Any = None) -> None:
        label = name if isinstance(name, str) and obj is missing else ""
        super().__init__(hint, obj, name, lambda message: _NoValue(label, message))  # type: ignore[arg-type]

    @property
    def _undefined_message(self) -> str:
        name = brief(str(self._undefined_name))
        if self._undefined_hint:
            return self._undefined_hint
        if self._undefined_obj is not missing:
            name = "an item" if self._undefined_name is None else repr(name)
            return f"looks for {name} in {described(self._undefined_obj)}, which has none"
        return f"the request has no fact {name!r}, which the answer needs"

    def without_item(self, item: str) -> Exception:
        """Return the error of what looks into a value that is not there; ``item`` is empty where it is not named."""
        message = self._undefined_message
        if self._undefined_obj is missing and item and not self._undefined_hint:
            dotted = brief(f"{self._undefined_name}.{item}")
            message += f'; the fact {dotted!r} is written facts["{dotted}"]'
        return _NoValue(str(self._undefined_name or ""), message)


def _fact(filling: Filling, name: object) -> Any:
    """Return what ``facts["…"]`` is."""
    return _looked_up(filling, folded(text_of(name)))


def _fact_of(filling: Filling, name: object) -> Any:
    """Return what ``facts[…]`` is, whose name is worked out: it may be a secret, so no error names it."""
    found = _fact(filling, name)
    return _Missing(_NOT_NAMED, name=found._undefined_name) if isinstance(found, _Missing) else found


def _secret(filling: Filling, name: object) -> Any:
    """Return what ``secret["…"]`` is. Raises `CannotFill` for one that is missing."""
    if not SECRET_NAME.match(text_of(name)):
        raise Refused("names no secret: its name is ASCII letters, digits, - and _")
    return _looked_up(filling, SECRETS + text_of(name))


def _looked_up(filling: Filling, label: str) -> Any:
    value = _usable(filling.lookup, label)
    return _Missing(name=label) if value is None else value


def _usable(lookup: Lookup, label: str) -> str | None:
    """Return the first value of a label. Raises `CannotFill` for one that no answer may take."""
    value = lookup.first(label)
    if value is not None and not value.isprintable():
        refuse_unusable(value, label, is_secret=label.startswith(SECRETS))
    return value


def _values(filling: Filling, label: object) -> list[str]:
    name = folded(text_of(label))
    found = list(filling.lookup.values(name))
    for value in found:
        if not value.isprintable():
            refuse_unusable(value, name, is_secret=name.startswith(SECRETS))
    filling.spend(len(found) * FOR_EACH_ITEM)
    return found


class _Function:
    """A function that a text may call."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def call(self, filling: Filling, *values: Any, **named: Any) -> Any:
        return self._function(filling, *values, **named)


_NAMES: Final[dict[str, Any]] = {
    "values": _Function(_values),
    "range": _Function(counted_range),
    "namespace": _Function(lambda _filling, **named: Namespace(**named)),
}


class _Context(Context):
    """The names of one answer: variables of the text, then functions, then labels."""

    filling: Filling

    def resolve_or_missing(self, key: str) -> Any:
        if key in self.vars:
            return self.vars[key]
        known = _NAMES.get(key)
        if known is not None:
            return known
        value = _usable(self.filling.lookup, folded(key))
        return missing if value is None else value


class _Environment(SandboxedEnvironment):
    """Jinja2 with tables in place of what Python's values have."""

    intercepted_binops = OPERATORS

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return what ``obj.attribute`` is: a method or an item, never an attribute of Python."""
        if isinstance(obj, _Missing):
            raise obj.without_item(attribute)
        methods = METHODS.get(type(obj), {})
        if attribute in methods and not (isinstance(obj, dict) and attribute in obj):
            return Method(methods[attribute], obj)
        found = self.getitem(obj, attribute)
        return _Missing(obj=obj, name=attribute) if isinstance(found, _Missing) else found

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return what ``obj[argument]`` is. What is in brackets may be a secret, so no error names it."""
        if isinstance(obj, _Missing):
            raise obj.without_item("")
        if isinstance(obj, LoopContext) and isinstance(argument, str) and argument in OF_A_LOOP:
            return getattr(obj, argument)
        if isinstance(obj, Namespace) and isinstance(argument, str) and not argument.startswith("_"):
            return self._of_namespace(obj, argument)
        try:
            if isinstance(obj, dict):
                if isinstance(argument, str) and len(argument) > LONGEST_FILTERED:  # nothing counts the comparing
                    raise Refused(f"looks for a name of more than {LONGEST_FILTERED:,} characters")
                return obj[scalar(argument)]
            if isinstance(obj, str | list | tuple | range) and isinstance(argument, int):
                return obj[argument]
        except LookupError:
            pass
        return _Missing(obj=obj)

    @staticmethod
    def _of_namespace(space: Namespace, name: str) -> Any:
        try:
            return getattr(space, name)
        except AttributeError:
            return _Missing(obj=space)

    def call(self, context: Context, obj: Any, *values: Any, **named: Any) -> Any:
        """Call a macro, a function of ours or a method of a value."""
        filling = context.filling  # type: ignore[attr-defined]
        if isinstance(obj, Macro):
            return context.call(obj, *values, **named)
        named.pop("_loop_vars", None)  # what Jinja adds for functions that take its context
        named.pop("_block_vars", None)
        if isinstance(obj, Method | _Function):
            return obj.call(filling, *values, **named)
        if isinstance(obj, Undefined):
            str(obj)
        raise Refused(f"calls {described(obj)}, which is no macro and no function")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        return calculated(context.filling, operator, left, right)  # type: ignore[attr-defined]


_ENVIRONMENTS: Final[dict[str, _Environment]] = {}


def _environment(newline: str) -> _Environment:
    """Return the environment for texts whose lines end in ``newline``."""
    known = _ENVIRONMENTS.get(newline)
    if known is None:
        known = _ENVIRONMENTS[newline] = _Environment(
            # Shells write ${#x}. No document holds NUL, so no comment of Jinja begins.
            comment_start_string="\0{#",
            comment_end_string="#}\0",
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            newline_sequence=newline,
            undefined=_Missing,
            optimized=False,  # what is worked out beforehand is not counted
            autoescape=False,
            finalize=_OUTPUT,
        )
        known.context_class = _Context
        known.globals.clear()
        known.filters.clear()
        known.tests.clear()
        for table, passes in ((WORDS, True), (INSERTED, False), (_INSERTED_HERE, False)):
            words = {
                name: taking_the_context(word, passes_missing=passes and name not in ("default", "d"))
                for name, word in table.items()
            }
            known.filters.update(words)
        known.tests.update({name: taking_the_context(word) for name, word in TESTS.items()})
    return known


_INSERTED_HERE: Final[dict[str, Callable[..., Any]]] = {
    " facts": _fact,
    " facts of": _fact_of,
    " secret": _secret,
}


_OUTPUT: Final = taking_the_context(counted_text)
"""What ``{{ … }}`` writes."""


# --- reading ----------------------------------------------------------------------------------------------------------


class _Faulty(ValueError):
    """A text that Jinja could fill and this service does not. ``line`` is the line of the text."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


class _Reading(NodeTransformer):
    """Judges a parsed text, and puts into it what counts and checks.

    ``size`` of a loop's or a macro's body is what one turn counts for; of the text, what is outside of loops.
    """

    def __init__(self) -> None:
        self.size = 0
        self.whole = 0
        self.labels: dict[str, bool] = {}
        """The labels in ``facts[…]`` and ``values(…)``, and whether a use of them allows for none."""
        self.names: dict[str, bool] = {}
        """The names that may be labels, in the same way."""
        self.secrets: dict[str, None] = {}
        self.assigned: set[str] = set()
        self.constant: list[int] = []
        """The lines of the parts of the text that are written as they are, in their order."""
        self._statements = self._expressions = self._loops = self._macros = self._blocks = 0
        self._undefined_macros: set[str] = set()
        """Macros whose end was not read yet. None calls itself, not by another one either."""

    # Every node of a text comes through here, except what a method below makes anew.

    def visit(self, node: nodes.Node, *arguments: Any, **named: Any) -> Any:
        self.size += FOR_EACH_PART
        self.whole += FOR_EACH_PART
        if isinstance(node, nodes.Stmt) and not isinstance(node, nodes.Output):
            if not isinstance(node, _STATEMENTS):
                raise _Faulty(f"there is no statement {type(node).__name__.lower()}; {_THERE_ARE}", node.lineno)
            return self._statement(node)
        if not isinstance(node, nodes.Expr):
            return super().visit(node, *arguments, **named)
        self._expressions += 1
        if self._expressions > DEEPEST_EXPRESSION:
            raise _Faulty(f"an expression has more than {DEEPEST_EXPRESSION} levels", node.lineno)
        try:
            return super().visit(node, *arguments, **named)
        finally:
            self._expressions -= 1

    def _statement(self, node: nodes.Stmt) -> Any:
        self._statements += 1
        if self._statements > DEEPEST_STATEMENT:
            raise _Faulty(f"more than {DEEPEST_STATEMENT} statements are within each other", node.lineno)
        try:
            return super().visit(node)
        finally:
            self._statements -= 1

    def visit_Output(self, node: nodes.Output) -> nodes.Node:
        if not (self._macros or self._blocks):  # what these write goes through a variable
            data = [isinstance(part, nodes.TemplateData) for part in node.nodes]
            self.constant += [
                part.lineno for at, part in enumerate(node.nodes) if data[at] and not (at and data[at - 1])
            ]
        return self.generic_visit(node)

    def visit_AssignBlock(self, node: nodes.AssignBlock) -> nodes.Node:
        self._blocks += 1
        try:
            return self.generic_visit(node)
        finally:
            self._blocks -= 1

    def visit_Const(self, node: nodes.Const) -> nodes.Node:
        if isinstance(node.value, str):
            if LONE_SURROGATE.search(node.value):
                raise _Faulty("a text holds a lone surrogate, which is no character", node.lineno)
        elif not is_bounded(node.value):
            raise _Faulty(_NO_NUMBER, node.lineno)
        return node

    def visit_TemplateData(self, node: nodes.TemplateData) -> nodes.Node:
        self.size += len(node.data)
        return node

    def visit_For(self, node: nodes.For) -> nodes.Node:
        if node.recursive:
            raise _Faulty("a loop is recursive, which none can be", node.lineno)
        node.iter = self.visit(node.iter)
        node.target = self.visit(node.target)
        outside, self.size = self.size, 0
        node.test = node.test and self.visit(node.test)
        self._loops += 1
        node.body = self._each(node.body)
        self._loops -= 1
        size, self.size = self.size, outside
        node.else_ = self._each(node.else_)
        node.iter = _inserted(" turns", node.iter, nodes.Const(size))
        return node

    def visit_Template(self, node: nodes.Template) -> nodes.Node:
        self._undefined_macros = {macro.name for macro in node.find_all(nodes.Macro)}
        return self.generic_visit(node)

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:
        self._assign(node.name, node)
        _refuse_repeated([argument.name for argument in node.args], node)
        node.args = self._each(node.args)
        node.defaults = self._each(node.defaults)
        outside, self.size = self.size, 0
        self._macros += 1
        node.body = self._each(node.body)
        self._macros -= 1
        self._undefined_macros.discard(node.name)
        node.body.insert(0, nodes.ExprStmt(_inserted(" call", nodes.Const(None), nodes.Const(self.size))))
        self.size = outside
        return node

    def _each(self, several: list[Any]) -> list[Any]:
        return [self.visit(node) for node in several]

    def visit_Name(self, node: nodes.Name) -> nodes.Node:
        if node.ctx != "load":
            self._assign(node.name, node)
        elif self._macros and node.name in self._undefined_macros:
            raise _Faulty(f"the macro {brief(node.name)!r} is used in a macro before its end", node.lineno)
        elif node.name in OWN_LABELS:
            self._note(node.name)
            return _inserted(" own", nodes.Const(node.name), line=node.lineno)
        elif node.name in ("facts", "secret"):
            raise _Faulty(f'{node.name} is used without a name: write {node.name}["name"]', node.lineno)
        elif node.name in ("self", "super", "caller") or (node.name == "loop" and not self._loops):
            raise _Faulty(f"{node.name} has no meaning here", node.lineno)
        elif node.name not in RESERVED:
            self.names.setdefault(folded(node.name), False)
        return node

    def visit_NSRef(self, node: nodes.NSRef) -> nodes.Node:
        if node.attr.startswith("_"):
            raise _Faulty("a name in a namespace begins with _", node.lineno)
        return node

    def _assign(self, name: str, node: nodes.Node) -> None:
        if name in RESERVED:
            raise _Faulty(f"{name} is a name of this service or of Jinja: call the variable otherwise", node.lineno)
        self.assigned.add(folded(name))

    def _note(self, label: str, *, is_guarded: bool = False) -> None:
        self.labels[label] = self.labels.get(label, False) or is_guarded

    def visit_Getattr(self, node: nodes.Getattr) -> nodes.Node:
        if isinstance(node.node, nodes.Name) and node.node.name in ("facts", "secret"):
            return self._of_view(node.node.name, nodes.Const(node.attr, lineno=node.lineno))
        node.node = self.visit(node.node)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        if isinstance(node.node, nodes.Name) and node.node.name in ("facts", "secret"):
            return self._of_view(node.node.name, node.arg)
        node.node = self.visit(node.node)
        if isinstance(node.arg, nodes.Slice):
            cut = [part and self.visit(part) for part in (node.arg.start, node.arg.stop, node.arg.step)]
            return _inserted(" slice", node.node, *(part or nodes.Const(None) for part in cut))
        node.arg = self.visit(node.arg)
        return node

    def _of_view(self, view: str, name: nodes.Expr) -> nodes.Node:
        if isinstance(name, nodes.Const) and isinstance(name.value, str):
            if view == "facts":
                self._note(folded(name.value))
            else:
                self.secrets[name.value] = None
        elif view == "facts":
            view = "facts of"
        return _inserted(f" {view}", self.visit(name), line=name.lineno)

    def visit_Call(self, node: nodes.Call) -> nodes.Node:
        if isinstance(node.node, nodes.Name) and node.node.name == "values":
            for argument in node.args[:1]:
                if isinstance(argument, nodes.Const) and isinstance(argument.value, str):
                    self._note(folded(argument.value), is_guarded=True)  # there may be none
        return self._with_arguments(node)

    def _with_arguments(self, node: nodes.Call | nodes.Filter | nodes.Test) -> nodes.Node:
        _refuse_repeated([pair.key for pair in node.kwargs], node)
        self.generic_visit(node)
        node.dyn_args = node.dyn_args and _inserted(" arguments", node.dyn_args)
        node.dyn_kwargs = node.dyn_kwargs and _inserted(" named arguments", node.dyn_kwargs)
        return node

    def visit_Filter(self, node: nodes.Filter) -> nodes.Node:
        if node.name not in WORDS:
            raise _Faulty(f"there is no filter {brief(node.name)!r}{did_you_mean(node.name, WORDS)}", node.lineno)
        if node.name in ("default", "d"):
            self._guard(node.node)
        return self._with_arguments(node)

    def visit_Test(self, node: nodes.Test) -> nodes.Node:
        if node.name not in TESTS:
            raise _Faulty(f"there is no test {brief(node.name)!r}{did_you_mean(node.name, TESTS)}", node.lineno)
        if node.name in ("defined", "undefined"):
            self._guard(node.node)
        return self._with_arguments(node)

    def _guard(self, node: nodes.Node | None) -> None:
        """Note a label that is tested or has a default."""
        while isinstance(node, nodes.Filter):
            node = node.node
        if isinstance(node, nodes.Name):
            self.names[folded(node.name)] = True
        elif isinstance(node, nodes.Getitem) and isinstance(node.node, nodes.Name):
            name = node.arg.value if isinstance(node.arg, nodes.Const) else None
            if node.node.name == "facts" and isinstance(name, str):
                self._note(folded(name), is_guarded=True)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        return _inserted(" concatenated", nodes.List(self._each(node.nodes)), line=node.lineno)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        looked_into = [operand.op in ("in", "notin") for operand in node.ops]
        node.expr = _compared(self.visit(node.expr))
        for operand, is_into in zip(node.ops, looked_into, strict=True):
            made = self.visit(operand.expr)
            operand.expr = _inserted(" container", made) if is_into else _compared(made)
        return node

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:
        self._count_items(node.items)
        for pair in node.items:
            pair.key, pair.value = _compared(self.visit(pair.key)), self.visit(pair.value)
        return node

    def visit_List(self, node: nodes.List) -> nodes.Node:
        self._count_items(node.items)
        return self.generic_visit(node)

    visit_Tuple = visit_List

    def _count_items(self, items: list[Any]) -> None:
        self.size += (len(items) + 8) * FOR_EACH_ITEM

    def placeholders(self) -> tuple[Placeholder, ...]:
        """Return the labels and secrets of the text as placeholders of their own, for what looks at a document."""
        labels = {name: guarded for name, guarded in self.names.items() if name not in self.assigned} | self.labels
        return (
            *(Placeholder(label, (("default", ("",)),) if guarded else (), label) for label, guarded in labels.items()),
            *(Placeholder(SECRETS + name, (), SECRETS + name, is_secret=True) for name in self.secrets),
        )


def _inserted(name: str, value: Any, *arguments: nodes.Expr, line: int | None = None) -> nodes.Filter:
    return nodes.Filter(value, name, list(arguments), [], None, None, lineno=line or value.lineno)


def _compared(value: nodes.Expr) -> nodes.Expr:
    return value if isinstance(value, nodes.Const) else _inserted(" compared", value)


def _refuse_repeated(names: list[Any], node: nodes.Node) -> None:
    if len(set(names)) < len(names):
        raise _Faulty("an argument has the name of another one", node.lineno)


class Program(NamedTuple):
    """A compiled text.

    ``placeholders`` are its labels and secrets as far as it names them. ``size`` is what it counts for without the
    turns of its loops. ``constant`` are the lines of the compiled code that write text of the document.
    """

    source: str
    compiled: Compiled
    placeholders: tuple[Placeholder, ...]
    size: int
    is_long: bool
    constant: Mapping[int, int]


_FILE: Final = "<jinja>"
_RAISED: Final = (
    ArithmeticError, AttributeError, CannotFill, LookupError, RecursionError, TemplateRuntimeError,
    TypeError, ValueError,
)  # fmt: skip
"""What a text can raise. The words of Python quote values, so only ours are passed on."""


class Jinja(NamedTuple):
    """A text that Jinja fills, as a document has it. ``document`` is the name of the document, and ``taken`` are the
    lines that are not in the text: those of control comments."""

    program: Program
    document: str = ""
    taken: tuple[int, ...] = ()

    @property
    def source(self) -> str:
        return self.program.source

    def slot(self, *, ends_line: bool) -> JinjaSlot:
        """Return the place of the text in a prepared answer."""
        return JinjaSlot(self, ends_line=ends_line)

    def filled(self, lookup: Lookup) -> str:
        """Return the text for a request. Raises `CannotFill` and `AnswerTooLarge`."""
        context = _Context(self.program.compiled.environment, {}, None, {})
        pieces: list[str] = []
        parts: list[str] = []
        room = LARGEST_ANSWER
        try:
            context.filling = Filling(lookup)
            context.filling.spend(self.program.size)
            for piece in self.program.compiled.root_render_func(context):
                pieces.append(piece)
                room -= len(piece)
                if room < 0:
                    raise too_large()
                if len(pieces) == _PIECES_AT_ONCE:
                    parts.append("".join(pieces))
                    pieces.clear()
        except _RAISED as error:
            raise self._failed(error) from None
        finally:
            context.vars.clear()  # a macro refers to the context: a cycle
        return "".join((*parts, *pieces))

    def lines(self, lookup: Lookup) -> Sequence[int]:
        """Return, for each line that the text becomes for a request, the line of the document that wrote its beginning.
        Raises `CannotFill`."""
        found: list[int] = []
        constant, stated = self.program.constant, self.program.compiled.debug_info or [(1, 1)]
        code = [at for _, at in stated]
        begins = True
        context = _Context(self.program.compiled.environment, {}, None, {})
        try:
            context.filling = Filling(lookup)
            made: Any = self.program.compiled.root_render_func(context)
            steps, written = zip(*[(step, at or 0) for step, _, at in made.gi_code.co_lines()], strict=True)
            for piece in made:
                # Python would look for the line from the beginning of the code each time.
                at = written[bisect_right(steps, made.gi_frame.f_lasti) - 1]
                line = constant.get(at) or stated[max(0, bisect_right(code, at) - 1)][0]
                for part in LINE.findall(piece):
                    if begins:
                        found.append(line_in_document(line, self.taken))
                    begins = part.endswith("\n")
                    line += begins and at in constant
        except _RAISED as error:
            raise self._failed(error) from None
        finally:
            context.vars.clear()
        return found

    def _failed(self, error: Exception) -> CannotFill:
        """Return the error of a filling that ended, with the document and its line."""
        document = self.document or "a text"
        where = f"line {line_in_document(self._line_of(error.__traceback__), self.taken)} of {document}"
        if isinstance(error, _NoValue) and error.label:
            label = error.label if error.label.startswith(SECRETS) else folded(error.label)
            return CannotFill(f"{where}: {error}", label, missing=True)
        if isinstance(error, CannotFill):  # a value that could not be looked up: a secret that is missing
            general = f"{where}: {error.general}"
            return CannotFill(f"{where}: {error.reason}", error.label, missing=error.missing, general=general)
        if isinstance(error, Refused | _NoValue):
            why = str(error)
        elif isinstance(error, RecursionError):
            why = "calls macros within macros without end"
        elif isinstance(error, ZeroDivisionError):
            why = "divides by zero"
        elif isinstance(error, TemplateRuntimeError):  # Jinja does not tell the line of this one
            where = document
            why = "sets a name in what is no namespace: write {% set x = namespace(name=1) %} before it"
        else:
            why = "gives an operator, a filter or a function what it does not take"
        return CannotFill(f"{where} {why}", "", missing=False)

    def _line_of(self, trace: TracebackType | None) -> int:
        """Return the line of the text at which an error arose: that of the innermost of its functions."""
        line = 1
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == _FILE:
                line = self.program.compiled.get_corresponding_lineno(trace.tb_lineno)
            trace = trace.tb_next
        return line


class JinjaSlot(Slot):
    """A whole text, filled by Jinja. ``ends_line``: another text follows, so what it writes ends its last line."""

    __slots__ = ("_ends_line", "text")

    is_program = True

    @property
    def is_long(self) -> bool:  # type: ignore[override]
        return self.text.program.is_long

    def __init__(self, text: Jinja, *, ends_line: bool) -> None:
        super().__init__(Template(text.program.placeholders), str)
        self.text = text
        self._ends_line = ends_line
        self.weight = len(text.source)

    def fill(self, lookup: Lookup) -> str:
        made = self.text.filled(lookup)
        return f"{made}\n" if self._ends_line and made and not made.endswith("\n") else made

    def as_written(self, lookup: Lookup) -> str:
        """Return the text for a request; a label without a value is written as its placeholder."""
        named = self.text.program.placeholders
        needed = [part.label for part in named if not part.filters]
        written = {label: _placeholder_of(label) for label in needed if _is_missing(lookup, label)}
        for _ in range(_MOST_REFILLED):
            try:
                return self.fill(_Replacing(lookup, written.get))
            except CannotFill as error:
                if not error.missing or error.label in written:
                    raise
                is_told = error.label.startswith(SECRETS) or any(part.label == error.label for part in named)
                written[error.label] = _placeholder_of(error.label if is_told else "facts[…]")
        return self.fill(_Replacing(lookup, written.get))

    def hiding(self, lookup: Lookup, is_hidden: Callable[[str], bool], mask: Callable[[str], str]) -> str:
        """Return the text for a request, made anew with the values masked whose label is hidden; with the same lines,
        where no line tells more than the text that is made of masks."""
        made = self.fill(lookup)
        shown = self._masked(lookup, is_hidden, mask)
        if shown.count("\n") == made.count("\n"):
            return shown
        known = set(shown.split("\n"))
        return "\n".join([line if line in known else mask(line) for line in made.split("\n")])

    def _masked(self, lookup: Lookup, is_hidden: Callable[[str], bool], mask: Callable[[str], str]) -> str:
        def masked(label: str) -> str | None:
            value = lookup.first(label) if is_hidden(label) else None
            return None if value is None else mask(value)

        try:
            return self.fill(_Replacing(lookup, masked))
        except CannotFill:  # a filter that takes no mask
            return mask(self.fill(lookup))

    def hidden_values(self, lookup: Lookup, is_hidden: Callable[[str], bool], mask: Callable[[str], str]) -> set[str]:
        """Return the values of the labels that are hidden, and what the text makes of them: what differs in a line from
        the text that is made without them. Raises `CannotFill`."""
        found: set[str] = set()

        def noted(label: str) -> str | None:
            if is_hidden(label):
                found.update(lookup.values(label))
            return None

        made = self.fill(_Replacing(lookup, noted)).split("\n")
        if found:
            shown = self._masked(lookup, is_hidden, mask).split("\n")
            pairs = zip(made, shown, strict=True) if len(made) == len(shown) else [(line, "") for line in made]
            kept = set(shown)
            found.update(_difference(line, other) for line, other in pairs if line != other and line not in kept)
        return found - {""}


def _placeholder_of(label: str) -> str:
    return f"{{{{ {label} }}}}"


def _is_missing(lookup: Lookup, label: str) -> bool:
    try:
        return lookup.first(label) is None
    except CannotFill as error:
        return error.missing


def _difference(line: str, other: str) -> str:
    """Return what is between the beginning and the end that a line has in common with another."""
    start = _alike(line, other)
    return line[start : len(line) - _alike(line[start:][::-1], other[start:][::-1])]


def _alike(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    return next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )


class _Replacing:
    """A lookup in which some values are replaced: those that ``replacement`` returns a text for."""

    __slots__ = ("_lookup", "_replacement")

    def __init__(self, lookup: Lookup, replacement: Callable[[str], str | None]) -> None:
        self._lookup, self._replacement = lookup, replacement

    def first(self, label: str) -> str | None:
        replaced = self._replacement(label)
        return self._lookup.first(label) if replaced is None else replaced

    def values(self, label: str) -> Sequence[str]:
        replaced = self._replacement(label)
        if replaced is None:
            return self._lookup.values(label)
        return [replaced] * max(1, len(self._lookup.values(label)))


class JinjaReader:
    """Reads the texts of a document that Jinja fills, in place of `answerd.formats.template.TemplateReader`."""

    def __init__(self, document: str, taken: Sequence[int]) -> None:
        """``document`` is its name. ``taken`` are the lines of its control comments."""
        self.problems: list[str] = []
        self.unlisted = 0
        self.found = False
        self.labels: set[str] = set()
        self._document = document
        self._taken = tuple(taken)

    def __call__(self, text: str, **_: bool) -> str | Jinja:
        """Return a text, compiled where it has anything to fill. Faults are noted with their line."""
        if "{{" not in text and "{%" not in text:
            return text
        read = _read(text)
        self.found = True
        if isinstance(read, Program):
            self.labels.update(label for each in read.placeholders for label in each.labels)
            return Jinja(read, self._document, self._taken)
        reason, line = read
        self.problems.append(f"line {line_in_document(line, self._taken)}: {reason}")
        return ""


@remembered(256, len, LONGEST)
def _read(text: str) -> Program | tuple[str, int]:
    """Return a compiled text, or its fault and the line of it."""
    if len(text) > LONGEST:
        return f"a text that Jinja fills has at most {LONGEST:,} characters", 1
    if text.count("{{") + text.count("{%") > MOST_TAGS:
        return f"a text that Jinja fills has at most {MOST_TAGS:,} tags", 1
    environment = _environment("\r\n" if "\r\n" in text else "\n")
    reading = _Reading()
    try:
        parsed = reading.visit(environment.parse(text))
        written = environment.compile(parsed, filename=_FILE, raw=True)
        code: CodeType = compile(written, _FILE, "exec")
    except TemplateSyntaxError as error:
        return f"is no Jinja: {error.message}", error.lineno
    except _Faulty as error:
        return str(error), error.line
    except RecursionError:
        return "expressions or statements are too deep within each other", 1
    except (SyntaxError, ValueError):
        return _NO_NUMBER, _line_of_no_number(environment, text)
    writing = [at for at, line in enumerate(written.split("\n"), 1) if _CONSTANT.match(line)]
    constant = dict(zip(writing, reading.constant, strict=False))
    compiled = Compiled.from_code(environment, code, {})
    is_long = reading.whole > LONG_SIZE
    return Program(text, compiled, reading.placeholders(), reading.size, is_long, constant)


_NO_NUMBER: Final = f"a number is not written with the digits 0 to 9, or has more than {LARGEST_NUMBER} bits"


def _line_of_no_number(environment: _Environment, text: str) -> int:
    """Return the line of the number that Jinja could not read: Python reads no integer of more than 4,300 digits, and
    no fraction in the digits of another script."""
    numbers = [(line, sign) for line, kind, sign in environment.lex(text) if kind in ("integer", "float")]
    return next((line for line, sign in numbers if len(sign) > LARGEST_NUMBER or not sign.isascii()), 1)


_CONSTANT: Final = re.compile(r"[ ]*yield ['\"]")


# --- what is valid and hardly meant -----------------------------------------------------------------------------------


def oversights(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines of a text, and what is valid in them and hardly meant. A text with a fault has none."""
    environment = _environment("\n")
    try:
        parsed = environment.parse(text)
        yield from _joined_lines(environment, text)
    except (TemplateSyntaxError, RecursionError, ValueError):
        return
    yield from _texts_compared_with_numbers(parsed)


def _joined_lines(environment: _Environment, text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with a text that end in a statement, whose line end goes with it, where another line follows."""
    has_text, joined = False, 0
    opened: list[tuple[bool, bool]] = []  # whether a text was before a block, and is in one of its earlier branches
    words: list[str] = []
    for line, kind, sign in environment.lexer.tokeniter(text, None):
        if joined and kind not in ("whitespace", "block_begin") and not sign.startswith("\n"):
            yield joined, "ends in a statement, so Jinja joins the next line to it: write +%} to keep the line end"
        joined = 0
        if kind == "data":
            _, ends, rest = sign.rpartition("\n")
            has_text = bool(rest.strip()) or (has_text and not ends)
        elif kind == "variable_begin":
            has_text = True
        elif kind == "block_begin":
            words = []
        elif kind in ("name", "operator"):
            words.append(sign)
        elif kind in ("block_end", "raw_end"):
            word = words[0] if words and kind == "block_end" else ""
            if word in ("if", "for", "macro") or (word == "set" and "=" not in words):
                opened.append((has_text, False))
            elif opened and word in ("elif", "else"):
                before, earlier = opened.pop()
                opened.append((before, earlier or has_text))
                has_text = before
            elif opened and word.startswith("end"):
                before, earlier = opened.pop()
                has_text = before if word in ("endmacro", "endset") else has_text or earlier
            if sign.endswith("\n"):
                joined = line if has_text and sign.endswith("%}\n") and not sign.startswith(("-", "+")) else 0
                has_text = False


def _texts_compared_with_numbers(parsed: nodes.Template) -> Iterator[tuple[int, str]]:
    """Yield the lines that ask whether a label, which is a text, is a number."""
    assigned = {node.name for node in parsed.find_all(nodes.Name) if node.ctx != "load"}
    for node in parsed.find_all(nodes.Compare):
        sides = [node.expr, *(operand.expr for operand in node.ops)]
        has_number = any(isinstance(side, nodes.Const) and type(side.value) in (int, float) for side in sides)
        label = next((name for side in sides if (name := _label_in(side, assigned))), "")
        if label and has_number and any(operand.op in ("eq", "ne") for operand in node.ops):
            yield node.lineno, f"compares {label}, which is a text, with a number: write {label} | number"


def _label_in(node: nodes.Expr, assigned: Set[str]) -> str:
    """Return how an expression names a label; empty where it is not the value of one."""
    if isinstance(node, nodes.Name) and node.name not in assigned and node.name not in RESERVED:
        return node.name
    if isinstance(node, nodes.Getitem) and isinstance(node.node, nodes.Name) and node.node.name == "facts":
        return f'facts["{node.arg.value}"]' if isinstance(node.arg, nodes.Const) else ""
    return ""
