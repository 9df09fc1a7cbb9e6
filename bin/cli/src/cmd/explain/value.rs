//! A plan as a value: the same that the text says, for programs.

use keyloom::key::{Direction, Nulls, Span};
use keyloom::plan::{Access, Class, Order, OrderBy, Plan, Refusal, Rejected, Stretch};
use keyloom::sql::Statement;
use serde_json::{Value as Json, json};

use super::text_or_null;

/// A statement with its plans, or with why it has none.
pub(super) fn of_statement(statement: &Statement, plans: &Result<Vec<Plan>, Box<Refusal>>) -> Json {
    let (line, text) = (statement.line(), statement.text());
    match plans {
        Ok(plans) => {
            json!({ "line": line, "statement": text, "plans": plans.iter().map(plan).collect::<Vec<_>>() })
        }
        Err(refusal) => json!({ "line": line, "statement": text, "refused": refused(refusal) }),
    }
}

fn plan(plan: &Plan) -> Json {
    let class = match plan.class {
        Class::Constant => "constant",
        Class::Output => "output",
        Class::Partition => "partition",
        Class::Scan => "scan",
    };
    let sorted = match &plan.order {
        Order::Free => Json::Null,
        Order::Sort(order) => order.iter().map(by).collect(),
    };
    json!({
        "table": plan.table,
        "index": plan.index,
        "key": plan.key,
        "access": access(&plan.access),
        "backward": plan.backward,
        "fetch": plan.fetch,
        "filter": text_or_null(plan.filter.as_ref()),
        "once": text_or_null(plan.once.as_ref()),
        "sorted": sorted,
        "limit": plan.limit,
        "select": plan.select,
        "class": class,
        "bound": plan.bound,
        "estimate": plan.estimate,
        "notes": plan.notes,
        "rejected": plan.rejected.iter().map(rejected).collect::<Vec<_>>(),
        "advice": plan.advice,
    })
}

fn refused(refusal: &Refusal) -> Json {
    json!({
        "table": refusal.table,
        "filter": refusal.filter,
        "order": refusal.order,
        "trees": refusal.trees.iter().map(rejected).collect::<Vec<_>>(),
        "index": refusal.index,
        "hint": refusal.hint,
    })
}

fn rejected(tree: &Rejected) -> Json {
    json!({ "index": tree.index, "key": tree.key, "reason": tree.reason })
}

fn access(access: &Access) -> Json {
    match access {
        Access::InTurn(stretches) => json!({ "how": "in turn", "spans": spans(stretches) }),
        Access::Merged(stretches) => json!({ "how": "merged", "spans": spans(stretches) }),
        Access::Skip { places, parts, inner, values } => json!({
            "how": "skip",
            "places": places.iter().map(bytes).collect::<Vec<_>>(),
            "parts": parts,
            "values": values,
            "spans": spans(inner),
        }),
    }
}

fn spans(stretches: &[Stretch]) -> Json {
    let span = |stretch: &Stretch| {
        let mut span = bytes(&stretch.span);
        if let Json::Object(fields) = &mut span {
            fields.insert("fields".to_owned(), json!(stretch.text));
        }
        span
    };
    stretches.iter().map(span).collect()
}

fn bytes(span: &Span) -> Json {
    json!({ "start": hex::encode(&span.start), "end": span.end.as_ref().map(hex::encode) })
}

fn by(by: &OrderBy) -> Json {
    let direction = if by.direction == Direction::Ascending { "asc" } else { "desc" };
    let nulls = if by.nulls == Nulls::First { "first" } else { "last" };
    json!({ "field": by.field, "direction": direction, "nulls": nulls })
}
