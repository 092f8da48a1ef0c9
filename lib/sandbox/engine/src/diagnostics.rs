//! The diagnostic events that stellar-core adds to those of the host.
use soroban_env_host::{
    xdr::{
        ContractEvent, ContractEventBody, ContractEventType, ContractEventV0, DiagnosticEvent, ExtensionPoint, ScError,
        ScErrorCode, ScString, ScVal, StringM,
    },
    HostError,
};

/// An error of stellar-core's own, with the numbers that explain it.
pub fn error(error: ScError, message: &str, args: &[u64]) -> DiagnosticEvent {
    error_about(error, message, args.iter().map(|n| ScVal::U64(*n)).collect())
}

/// `used` of a resource is more than was declared or the network allows.
pub fn over_limit(message: &str, used: u64, allowed: u64) -> DiagnosticEvent {
    error(ScError::Budget(ScErrorCode::ExceededLimit), message, &[used, allowed])
}

/// Topics `error` and the error; data the message, or a vector of the message and `args`.
pub fn error_about(error: ScError, message: &str, args: Vec<ScVal>) -> DiagnosticEvent {
    let message = StringM::try_from(message).expect("a short message");
    let mut data = ScVal::String(ScString(message));
    if !args.is_empty() {
        let values: Vec<_> = std::iter::once(data).chain(args).collect();
        data = ScVal::Vec(Some(values.try_into().expect("a few values")));
    }
    event(false, vec![symbol("error"), ScVal::Error(error)], data)
}

/// What ends the events of a failed invocation.
pub fn host_function_failed(failure: &HostError) -> DiagnosticEvent {
    let error = failure
        .error
        .try_into()
        .unwrap_or(ScError::Context(ScErrorCode::InternalError));
    let topics = vec![symbol("host_fn_failed"), ScVal::Error(error)];
    event(false, topics, ScVal::Void)
}

pub fn core_metric(success: bool, name: &str, value: u64) -> DiagnosticEvent {
    let topics = vec![symbol("core_metrics"), symbol(name)];
    event(success, topics, ScVal::U64(value))
}

fn symbol(text: &str) -> ScVal {
    ScVal::Symbol(text.try_into().expect("a symbol"))
}

fn event(in_successful_call: bool, topics: Vec<ScVal>, data: ScVal) -> DiagnosticEvent {
    DiagnosticEvent {
        in_successful_contract_call: in_successful_call,
        event: ContractEvent {
            ext: ExtensionPoint::V0,
            contract_id: None,
            type_: ContractEventType::Diagnostic,
            body: ContractEventBody::V0(ContractEventV0 {
                topics: topics.try_into().expect("a few topics"),
                data,
            }),
        },
    }
}
