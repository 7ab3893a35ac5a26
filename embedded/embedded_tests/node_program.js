// A Node.js program with IBM's package ibmmq: puts in a unit of work, gets, browses with a callback, publishes and subscribes.
// Prints one line of JSON with what came of it; fails with the first MQI call that fails.
"use strict";

const { promisify } = require("node:util");
const mq = require("ibmmq");
const { MQC } = mq;

const commit = promisify(mq.Cmit);
const backOut = promisify(mq.Back);
const [qMgrName, queueName, topicString] = process.argv.slice(2);

function putOptions(syncpoint) {
  const pmo = new mq.MQPMO();
  pmo.Options = (syncpoint ? MQC.MQPMO_SYNCPOINT : MQC.MQPMO_NO_SYNCPOINT) | MQC.MQPMO_NEW_MSG_ID | MQC.MQPMO_FAIL_IF_QUIESCING;
  return pmo;
}

function getOptions(options) {
  const gmo = new mq.MQGMO();
  gmo.Options = MQC.MQGMO_NO_SYNCPOINT | MQC.MQGMO_FAIL_IF_QUIESCING | options;
  gmo.MatchOptions = MQC.MQMO_NONE;
  return gmo;
}

async function open(hConn, name, options) {
  const od = new mq.MQOD();
  od.ObjectName = name;
  od.ObjectType = MQC.MQOT_Q;
  return mq.OpenPromise(hConn, od, options);
}

async function put(hObj, text, { syncpoint = false } = {}) {
  const md = new mq.MQMD();
  md.Format = MQC.MQFMT_STRING;
  await mq.PutPromise(hObj, md, putOptions(syncpoint), text);
}

function get(hObj) {
  const buffer = Buffer.alloc(1024);
  let found = null;
  mq.GetSync(hObj, new mq.MQMD(), getOptions(MQC.MQGMO_NO_WAIT), buffer, (err, length) => {
    if (err && err.mqrc !== MQC.MQRC_NO_MSG_AVAILABLE) {
      throw err;
    }
    found = err ? null : buffer.toString("utf8", 0, length);
  });
  return found;
}

function getAll(hObj) {
  const found = [];
  for (let text = get(hObj); text !== null; text = get(hObj)) {
    found.push(text);
  }
  return found;
}

// Start a consumer that browses. Returns a promise of the first so many messages.
//
// It has to be started before there are messages: a callback while MQCTL is not back yet makes the package (2.1.9) forget that it
// has to resume the consumer (CTL and Res in its mqgeta.cc).
function browse(hConn, hObj, count) {
  const gmo = getOptions(MQC.MQGMO_WAIT | MQC.MQGMO_BROWSE_NEXT);
  gmo.WaitInterval = 30000;
  const browsed = new Promise((resolve, reject) => {
    const found = [];
    mq.Get(hObj, new mq.MQMD(), gmo, (err, object, gmoOfMessage, md, buffer) => {
      if (err) {
        reject(err);
        return;
      }
      found.push(buffer.toString("utf8"));
      if (found.length === count) {
        resolve(found);
      }
    });
  });
  mq.Ctl(hConn, MQC.MQOP_START);
  return browsed;
}

async function main() {
  const result = {};
  const hConn = await mq.ConnPromise(qMgrName);
  const hObj = await open(hConn, queueName, MQC.MQOO_OUTPUT | MQC.MQOO_INPUT_SHARED);
  for (const text of ["backed out", "this too"]) {
    await put(hObj, text, { syncpoint: true });
  }
  await backOut(hConn);
  for (const text of ["one", "two", "three"]) {
    await put(hObj, text, { syncpoint: true });
  }
  result.beforeCommit = get(hObj);

  // A connection of its own: while its consumer is started, it takes no other calls.
  const other = await mq.ConnPromise(qMgrName);
  const queueToBrowse = await open(other, queueName, MQC.MQOO_BROWSE);
  const browsed = browse(other, queueToBrowse, 3);
  await commit(hConn);
  result.browsed = await browsed;
  mq.GetDone(queueToBrowse);
  await mq.ClosePromise(queueToBrowse, 0);
  await mq.DiscPromise(other);
  result.got = getAll(hObj);

  const sd = new mq.MQSD();
  sd.ObjectString = topicString;
  sd.Options = MQC.MQSO_CREATE | MQC.MQSO_NON_DURABLE | MQC.MQSO_MANAGED | MQC.MQSO_FAIL_IF_QUIESCING;
  const subscription = await new Promise((resolve, reject) => {
    mq.Sub(hConn, null, sd, (err, hQueue, hSub) => (err ? reject(err) : resolve({ hQueue, hSub })));
  });
  const topic = new mq.MQOD();
  topic.ObjectString = topicString;
  topic.ObjectType = MQC.MQOT_TOPIC;
  const hTopic = await mq.OpenPromise(hConn, topic, MQC.MQOO_OUTPUT | MQC.MQOO_FAIL_IF_QUIESCING);
  await put(hTopic, "published");
  result.published = getAll(subscription.hQueue);

  for (const handle of [hTopic, subscription.hSub, subscription.hQueue, hObj]) {
    await mq.ClosePromise(handle, 0);
  }
  await mq.DiscPromise(hConn);
  return result;
}

main().then(
  (result) => {
    console.log(JSON.stringify(result));
    // A function that was called for messages keeps the process alive; IBM's samples end this way too.
    process.exit(0);
  },
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
