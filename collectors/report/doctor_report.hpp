// What `weft doctor` found: for people, for programs (weft.doctor/1), and as one line for a monitoring
// system.
#pragma once

#include <string>

#include "collectors/report/table.hpp"
#include "topology/files/document.hpp"
#include "topology/files/row_text.hpp"
#include "topology/findings/host_trouble.hpp"

namespace weft::report {

/// The verdict in a sentence, what to act on first, and what each host has (of a few, or where all is asked
/// for). No line is wider than `columns`, but where one word is.
std::string doctor_table(const DoctorReport& report, const TableStyle& style = {});

std::string doctor_line(const DoctorReport& report);

std::string doctor_json(const DoctorReport& report, const files::DocumentStamp& stamp);

/// A row a finding and host, what hurts most first; none where nothing was found. What is told of several
/// hosts, the evidence and the remedy, speaks of the first of them (`example`).
files::RowSet doctor_rows(const DoctorReport& report);

}  // namespace weft::report
