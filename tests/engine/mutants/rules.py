"""The rules of vLLM 0.33 and of its host tier, each with the change that leaves it out: file, old text, new text."""

CACHE = "workers/engine/cache/kv_cache.cpp"
SCHEDULER = "workers/engine/scheduler/scheduler.cpp"
V1 = "workers/engine/scheduler/v1.cpp"
STATE_H = "workers/engine/scheduler/state.hpp"
LOADS = "workers/engine/scheduler/host_loads.cpp"
TIER = "workers/engine/tiers/connector.cpp"
STORE = "workers/engine/cache/host_store.cpp"
STORE_H = "workers/engine/cache/host_store.hpp"
ASYNC = "tests/engine/replay/async_replay.cpp"

RULES = [
    ("N1", "blocks without a hash first",
     [(CACHE, "if (config_.partial_blocks_first)\n", "if (false)\n")]),
    ("N1", "the last block of a table first",
     [(CACHE, "for (const BlockId block : blocks)\n      if (pool_.refs(block) == 0 && !cache_.contains(block)) pool",
       "for (const BlockId block : std::views::reverse(blocks))\n"
       "      if (pool_.refs(block) == 0 && !cache_.contains(block)) pool")]),
    ("N2", "no threshold for a request that is alone", [(SCHEDULER, "if (requests <= 1) return 0;", "")]),
    ("N2", "the adaptive threshold",
     [(SCHEDULER, "if (!config.adaptive_prefill_threshold) return threshold;", "if (requests > 0) return threshold;")]),
    ("N3", "a self-victim does not end the loop",
     [(V1, "if (itself && state_.config.version != Version::may_2026) after = RunningList::next(request);",
       "static_cast<void>(after);")]),
    ("N4", "the loop index moves back past a victim",
     [(V1, "namespace engine {\n", "namespace engine {\nnamespace {\nbool passes_over = false;\n}\n"),
      (V1, "    const bool itself = &victim == &request;\n",
       "    const bool itself = &victim == &request;\n"
       "    const Request* behind = &victim;\n"
       "    while (behind != nullptr && behind != &request) behind = RunningList::next(*behind);\n"
       "    passes_over |= !itself && behind != nullptr && victim.scheduled_in_step != step.plan.step;\n"),
      (V1, "    request = RunningList::next(*request);\n  }\n",
       "    request = RunningList::next(*request);\n"
       "    if (std::exchange(passes_over, false) && request != nullptr) request = RunningList::next(*request);\n  }\n"),
]),
    ("N5", "a preempted request keeps no placeholders",
     [(ASYNC, "return script_.newest() && request.status == engine::RequestStatus::preempted;",
       "return script_.newest() && request.ended();")]),
    ("N6", "an empty batch is in flight like any other",
     [(ASYNC, "(waits || !queue_.back().plan.scheduled.empty())", "(false && waits) + !queue_.back().plan.scheduled.empty()")]),
    ("N7", "the watermark", [(V1, "return state_.running.empty() ? 0 : state_.config.watermark_blocks;", "return 0;")]),
    ("N7", "none while nothing runs",
     [(V1, "return state_.running.empty() ? 0 : state_.config.watermark_blocks;",
       "return state_.config.watermark_blocks;")]),
    ("N7", "with reservation off, too",
     [(V1, "if (!state_.config.reserve_full_sequence) return {.free_blocks = left_free};",
       "if (!state_.config.reserve_full_sequence) return {};")]),
    ("T1", "a hit may cover the whole prompt",
     [(TIER, "const int end = request.num_tokens() / kv_.block_size();\n  bool pending",
       "const int end = (request.num_tokens() - 1) / kv_.block_size();\n  bool pending")]),
    ("T2", "a request waits for its own copies", [(TIER, "if (client.jobs > 0) return {.ask_again = true};", "")]),
    ("T2", "a block being written is waited for",
     [(TIER, "if (known == nullptr) break;", "if (known == nullptr || !known->readable()) break;")]),
    ("T2", "a block being loaded is waited for", [(TIER, "pending |= known->readers != 0;", "pending |= known->readers < 0;")]),
    ("T2", "those behind are served meanwhile", [(V1, "step.plan.deferred.push_back(&request);\n    return StopReason::none;",
                                                 "step.plan.deferred.push_back(&request);\n"
                                                 "    return StopReason::kv_insufficient;")]),
    ("T3", "asking resets what was offered", [(TIER, "client.cursor = client.table = 0;", "")]),
    ("T4", "the gate", [(V1, "if (state_.tier.connector() == nullptr) return 0;\n  int blocks", "if (true) return 0;\n  int blocks")]),
    ("T5", "loaded KV is registered when the request is considered",
     [(LOADS, "    request.status = RequestStatus::loaded;\n    if (load.tokens == 0) return_to_queue(request);",
       "      request.status = RequestStatus::loaded;\n      take_up(request);\n"
       "      if (load.tokens == 0) return_to_queue(request);")]),
    ("T6", "holders of blocks before all others",
     [(V1, "bool goes_on = state_.tier.connector() == nullptr || admit_holders(step);", "bool goes_on = true;"),
      (V1, "goes_on = admit_head(step);\n",
       "goes_on = admit_head(step);\n  if (goes_on && state_.tier.connector() != nullptr) goes_on = admit_holders(step);\n")]),
    ("T6", "their whole sequence is tested again",
     [(V1, "const Reservation reserved = reserve(request);\n  const Admission admission = kv.try_admit(",
       "Reservation reserved = reserve(request);\n  if (holds_blocks) reserved.must_fit = 0;\n"
       "  const Admission admission = kv.try_admit(")]),
    ("T6", "one that does not fit ends admission",
     [(V1, "      if (!admit_next(*request, step)) return false;", "      if (!admit_next(*request, step)) break;")]),
    ("T7", "its kind is new unless it was preempted",
     [(V1, "const bool fresh = request.num_preemptions == 0;",
       "const bool fresh = request.num_preemptions == 0 && !was_loaded;")]),
    ("T8", "blocks of the very step are stored",
     [(TIER, "std::min(share.computed_before + share.num_tokens, request.num_tokens());",
       "std::min(share.computed_before, request.num_tokens());")]),
    ("T8", "prompts alone", [(TIER, "if (config_.store_mode == StoreMode::prompt) tokens", "if (config_.arc && false) tokens")]),
    ("T8", "stores after the end",
     [(TIER, "  for (Client* const client : ended_)\n    store(*client, client->contents, client->blocks, client->tokens, now);\n",
       "")]),
    ("T9", "a failed store is offered again",
     [(TIER, "if (!stored) return failed_stores_.push_back(client.id);",
       "if (!stored) {\n    client.cursor = end;\n    return failed_stores_.push_back(client.id);\n  }")]),
    ("T9", "what is offered is not evicted for it",
     [(STORE_H, "return entry.readers == 0 && entry.offer != offers_;", "return entry.readers == 0;"),
      (STORE, "if (num_idle_ - static_cast<int>(held_.size()) < count)", "if (num_idle_ < count)")]),
    ("T10", "flush at preemption", [(TIER, "job->flush |= job->client == request->tier.client && job->step < step_;",
                                     "job->flush |= false && request->tier.client;")]),
    ("T10", "flush at reuse", [(TIER, "for (const auto& job : jobs_) job->flush |= given_out(*job);", "static_cast<void>(given_out);")]),
    ("T11", "the threshold of offers", [(STORE, "!known && times >= threshold_", "!known"),
                                       (STORE, "const int times = threshold_ > 1 ? ++offered_[index(contents[i])] : 1;", "")]),
    ("T12", "a use raises the rank", [(STORE, "  unlink(here);\n  place(here, position, uses);\n", "")]),
    ("T12", "ranks renewed at the end",
     [(STORE, "  order.move_to_back(uses.begin, uses.end);\n", ""), (STORE, "  ranks_of_[uses.number] = ++ranks_;\n", "")]),
    ("T12", "the end of a context first", [(STORE, "next->position > position;", "next->position < position;")]),
    ("T13", "ghosts change the target", [(STORE, "(frequent ? -step : step)", "0 * step")]),
    ("T13", "blocks that were found go to T2",
     [(STORE, "here->frequent || reused", "here->frequent")]),
    ("T14", "release put off after the end", [(SCHEDULER, "const bool fenced = state_.fenced(request);", "const bool fenced = false;")]),
    ("T14", "release put off after an abort", [(STATE_H, "fenced(request) ? late", "false ? late")]),
    ("T15", "a busy victim is not preempted", [(V1, "if (state_.fenced(victim) && !state_.tier.connector()->preempts_busy()) return false;", "")]),
    ("T16", "blocks stay with the load of an aborted request",
     [(TIER, "job->held = kv_.take_blocks(request);", "static_cast<void>(kv_);")]),
]
