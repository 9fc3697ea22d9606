/// What each promise says, in a few words for a person who does not know its name.
enum PromiseWords {
  /// The words for a promise's name. A name without words stands for itself.
  static func text(_ name: String) -> String { all[name] ?? name }

  static let all = [
    "link-lost-on-leaving": "the link ends when the owner leaves",
    "locked-on-leaving": "the door locks behind its owner",
    "away-long-enough": "the owner is away as long as the story says",
    "agent-not-running-while-away": "the dead agent stays dead meanwhile",
    "request-held": "the wish to connect is kept for days",
    "never-unlocked-while-away": "nothing opens the door meanwhile",
    "daemon-came-back": "latchkeyd is back after each death",
    "lock-relaunched": "the lock is back after each death",
    "relaunched-in-background": "the dead agent is started again on arrival",
    "woken-on-arrival": "the suspended agent is woken on arrival",
    "restored-in-order": "the agent gets its state back, in order",
    "services-restored": "the agent still knows the lock's services",
    "subscription-alive": "the agent's subscription still works",
    "unlocked-once": "the door opens, once",
    "opened-once": "each arrival opens the door, once",
    "unlock-answered": "the lock confirms that it has opened",
    "opened-only-on-arrival": "only an owner's arrival or word opens the door",
    "asked-without-evidence": "in doubt the agent asks, and does not open",
    "every-movement-recorded": "the lock keeps a record of each movement",
    "refusals-logged": "who is refused is in the lock's log",
    "nothing-refused": "the lock refuses no command",
    "death-unseen": "the phone does not notice that the lock's app died",
    "answered-for-the-app": "what a hung lock leaves open is answered for it",
    "closed-with-its-link": "what is open when the link is lost is closed",
    "nothing-crashed": "no process crashes",
    "told-nothing-twice": "the agent is told nothing twice",
    "no-errors-logged": "no process logs an error",
  ]
}
