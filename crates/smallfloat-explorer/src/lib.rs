//! The explorer's model as a WebAssembly module, for a page that no server answers
//! (`scripts/explorer-static` puts both into one file).
//!
//! The page calls [`allocate`], writes a message there, calls [`respond`], reads the answer's JSON
//! and calls [`release`]. Messages and answers are those of the server of `smallfloat explore`.

use std::ptr;

use serde::Serialize;
use serde_json::{Value, json};
use smallfloat_lab::explorer::tensor::FileQuestion;
use smallfloat_lab::explorer::{self, ExplorerError, Question};

/// An answer in the module's memory.
#[repr(C)]
#[derive(Debug)]
pub struct Response {
    /// Its JSON.
    text: *mut u8,
    /// The bytes of it.
    length: usize,
    /// 1 for `{"error": …}`, else 0.
    is_error: u32,
}

/// Returns room for a message of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn allocate(length: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// Answers a message and takes its room back: a question in JSON or, with `has_file` other than 0,
/// a line of JSON and a file.
///
/// # Safety
/// `message` comes from [`allocate`], with the same length, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn respond(message: *mut u8, length: usize, has_file: u32) -> *mut Response {
    // SAFETY: the caller's promise; `allocate` made the box of a slice of this length.
    let message = unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(message, length)) }.into_vec();
    let answer = if has_file == 0 { ask(&message) } else { tensor(message) };
    let is_error = u32::from(answer.is_err());
    let text = answer.unwrap_or_else(|error| json!({ "error": error.with_causes() })).to_string();
    let text = text.into_bytes().into_boxed_slice();
    let length = text.len();
    Box::into_raw(Box::new(Response { text: Box::into_raw(text).cast(), length, is_error }))
}

/// Takes the room of an answer back.
///
/// # Safety
/// `response` comes from [`respond`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn release(response: *mut Response) {
    // SAFETY: the caller's promise; `respond` made both boxes.
    unsafe {
        let response = Box::from_raw(response);
        drop(Box::from_raw(ptr::slice_from_raw_parts_mut(response.text, response.length)));
    }
}

fn ask(message: &[u8]) -> Result<Value, ExplorerError> {
    let question: Question = explorer::from_json(message)?;
    Ok(value(explorer::answer(&question)?))
}

fn tensor(message: Vec<u8>) -> Result<Value, ExplorerError> {
    let (question, file) = FileQuestion::split(message)?;
    Ok(value(question.answer(file)?))
}

fn value(answer: impl Serialize) -> Value {
    serde_json::to_value(answer).expect("answers are plain data")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(message: &[u8], has_file: u32) -> (u32, Value) {
        let room = allocate(message.len());
        // SAFETY: the room is as long as the message; `respond` and `release` get what they expect
        // once.
        unsafe {
            ptr::copy_nonoverlapping(message.as_ptr(), room, message.len());
            let response = respond(room, message.len(), has_file);
            let Response { text, length, is_error } = *response;
            let json = serde_json::from_slice(std::slice::from_raw_parts(text, length)).expect("JSON");
            release(response);
            (is_error, json)
        }
    }

    #[test]
    fn questions_are_answered_and_mistakes_told() {
        let (is_error, answer) = answered(br#"{"ask": "code", "format": "e4m3fn", "code": 56}"#, 0);
        assert_eq!((is_error, &answer["at"]["decimal"]), (0, &json!("1")), "{answer}");
        for (message, has_file) in
            [(&b""[..], 0), (b"{", 0), (br#"{"ask": "format", "name": "x"}"#, 0), (b"", 1), (b"{}\n", 1)]
        {
            let (is_error, answer) = answered(message, has_file);
            assert_eq!(is_error, 1);
            assert!(answer["error"].as_str().is_some_and(|text| !text.is_empty()), "{answer}");
        }
    }

    #[test]
    fn files_are_read_in_memory() {
        let mut file = b"{\"file\": \"x.npy\", \"formats\": [\"e4m3fn\"]}\n".to_vec();
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
        file.extend(b"\x93NUMPY\x01\x00");
        file.extend(118_u16.to_le_bytes());
        file.extend(format!("{header:<117}\n").bytes());
        file.extend([1.0_f32, 500.0].iter().flat_map(|x| x.to_le_bytes()));
        let (is_error, answer) = answered(&file, 1);
        assert_eq!((is_error, &answer["formats"][0]["saturated"]), (0, &json!(1)), "{answer}");
    }
}
