// commonplace in opencode: a briefing with the first prompt of a session, relevant memories with each prompt, and
// an episode of the session when opencode ends. `commonplace install opencode` names this file in opencode.json.

import { spawn } from "node:child_process"
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"

const SERVER = "commonplace"
const OPTIONS = ["--butler", "--server", "--token-file"]
const KEPT_MS = 30 * 86_400_000
const DATA = process.env.XDG_DATA_HOME || join(homedir(), ".local", "share")
const TRANSCRIPTS = join(DATA, "opencode", "commonplace")

export const Commonplace = async ({ client, directory }) => {
  let command = []
  let options = []
  const briefed = new Set()
  const changed = new Set()
  const parents = new Map()
  let writing = Promise.resolve()

  const transcript = (session) => join(TRANSCRIPTS, `${session}.jsonl`)

  // Calls a hook. It always ends soon, with status 0; an error leaves the text empty.
  const hook = (event, session, prompt = "") =>
    new Promise((resolve) => {
      const input = { session_id: session, transcript_path: transcript(session), cwd: directory, prompt }
      const [program, ...words] = [...command, "hook", event, "--host", "opencode", ...options]
      const child = spawn(program, words, { cwd: directory, stdio: ["pipe", "pipe", "ignore"] })
      let text = ""
      child.stdout.setEncoding("utf8").on("data", (more) => (text += more))
      child.on("error", () => resolve(""))
      child.on("close", () => resolve(text))
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(input))
    })

  // Sessions of subagents have a parent; they are part of the parent's session.
  const isOwn = async (session) => {
    if (!parents.has(session)) parents.set(session, (await client.session.get({ path: { id: session } })).data?.parentID)
    return command.length > 0 && !parents.get(session)
  }

  const write = async (session) => {
    const { data = [] } = await client.session.messages({ path: { id: session } })
    await mkdir(TRANSCRIPTS, { recursive: true, mode: 0o700 })
    await writeFile(transcript(session), data.map((each) => `${JSON.stringify(each)}\n`).join(""), { mode: 0o600 })
    changed.add(session)
  }

  const forgetOld = async () => {
    for (const name of await readdir(TRANSCRIPTS).catch(() => [])) {
      const path = join(TRANSCRIPTS, name)
      if ((await stat(path)).mtimeMs < Date.now() - KEPT_MS) await rm(path, { force: true })
    }
  }

  // Memory must never stop a session.
  const safely = (work) => async (...given) => {
    try {
      await work(...given)
    } catch (error) {
      console.error(`commonplace: ${error}`)
    }
  }

  return {
    config: safely(async (config) => {
      const words = config.mcp?.[SERVER]?.command ?? []
      const at = Math.max(words.lastIndexOf("mcp"), 0)
      command = words.slice(0, at)
      options = OPTIONS.flatMap((name) => (words.includes(name, at) ? [name, words[words.indexOf(name, at) + 1]] : []))
      await forgetOld()
    }),
    "chat.message": safely(async ({ sessionID }, { message, parts }) => {
      if (!(await isOwn(sessionID))) return
      const prompt = parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")
      const told = briefed.has(sessionID) ? [] : [await hook("session-start", sessionID)]
      briefed.add(sessionID)
      told.push(await hook("user-prompt", sessionID, prompt))
      const last = parts.at(-1)?.id
      for (const [place, text] of told.entries()) {
        if (text && last) {
          const id = `${last}${place}`
          parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
        }
      }
    }),
    event: safely(async ({ event }) => {
      const session = event.properties?.sessionID
      if (event.type === "session.compacted") briefed.delete(session)
      if (event.type !== "session.idle") return
      writing = writing.then(safely(async () => (await isOwn(session)) && (await write(session))))
      await writing
    }),
    // opencode does not wait for event handlers, but it waits for this function.
    dispose: safely(async () => {
      await writing
      await Promise.all([...changed].map((session) => hook("session-end", session)))
    }),
  }
}
