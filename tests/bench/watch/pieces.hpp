// The pieces of `./bootstrap bench watch`; each adds its figures.
#pragma once

#include "tests/bench/support/figures.hpp"

namespace weft::bench {

/// Path-windows decoded, checked and summed by one thread.
void measure_ingest(Figures& figures);
/// On the lab's fabric, 16 hosts: how long until drawn faults open an incident, and whether it is the right
/// one. Simulated.
void measure_detection(Figures& figures);
/// Of 300 drawn histories of small fabrics (one or two faults that may flap, a watcher stopped or a server
/// away meanwhile) how many had just the incidents that were true, from their begin to their end. Simulated.
void measure_incident_histories(Figures& figures);
/// Five simulated days of the lab's fabric with background losses.
void count_false_incidents(Figures& figures);
/// 24,576 NICs with eight faults: one look.
void measure_look_24576(Figures& figures);
/// CPU time, memory and bytes of `weft agent --standing`, with one NIC and with eight. Needs root.
void measure_agent(Figures& figures);
/// Windows published and fetched over a real nats-server.
void measure_bus(Figures& figures);
/// Twenty times the active one of two watchers is killed at a random moment while an incident is open: until
/// the other holds the lease, with a plan that agents work by. Needs root.
void measure_takeover(Figures& figures);
/// The live page of 24,576 NICs in a headless browser, of five starts the median: from the address to the
/// drawn fabric, and what was loaded for it.
void measure_page_24576(Figures& figures);
/// How long until a loss of 1 % of one of 24,576 NICs' channels opens an incident, by tier; three of each.
void measure_detection_24576(Figures& figures);
/// The database of a watcher of 24,576 NICs: its size in 400 days, and the writing of ten seconds.
void measure_store_400d(Figures& figures);
/// A watcher of 3,072 simulated agents over nats-server, for five minutes: cores, memory, and how late the
/// slowest agent's window is summed.
void measure_watch_24576(Figures& figures);
/// `weft watch` over a lab of 16 hosts, with packets: as measure_detection, of each kind up to 100 drawn
/// channels, as many as twenty minutes hold.
void measure_lab_down(Figures& figures);
void measure_lab_loss1(Figures& figures);
void measure_lab_loss01(Figures& figures);
/// An hour of it without a fault.
void count_false_incidents_lab(Figures& figures);
/// A scrape of its metrics.
void measure_metrics_24576(Figures& figures);

}  // namespace weft::bench
