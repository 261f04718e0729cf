// `weft blacklist`: which links to keep work away from, for schedulers and fabric managers.
#pragma once

#include "cli/words.hpp"

namespace weft::cli {

const WordGroup& blacklist_words();
int blacklist_command(const Arguments& arguments);
OptionParser blacklist_export_options();
int blacklist_export_command(const Arguments& arguments);

// Of a ledger (cli/ledger.cpp).
OptionParser blacklist_update_options();
OptionParser blacklist_list_options();
OptionParser blacklist_add_options();
OptionParser blacklist_release_options();
OptionParser blacklist_approve_options();
OptionParser blacklist_hold_options();
OptionParser blacklist_resume_options();
OptionParser blacklist_history_options();
int blacklist_update_command(const Arguments& arguments);
int blacklist_list_command(const Arguments& arguments);
int blacklist_add_command(const Arguments& arguments);
int blacklist_release_command(const Arguments& arguments);
int blacklist_approve_command(const Arguments& arguments);
int blacklist_hold_command(const Arguments& arguments);
int blacklist_resume_command(const Arguments& arguments);
int blacklist_history_command(const Arguments& arguments);

// Of a ledger and a target (cli/blacklist_sync.cpp).
OptionParser blacklist_sync_options();
OptionParser blacklist_undo_options();
OptionParser blacklist_check_options();
int blacklist_sync_command(const Arguments& arguments);
int blacklist_undo_command(const Arguments& arguments);
OptionParser blacklist_adopt_options();
int blacklist_adopt_command(const Arguments& arguments);
int blacklist_check_command(const Arguments& arguments);

// Of a ledger that machines share (cli/blacklist_share.cpp).
OptionParser blacklist_share_options();
OptionParser blacklist_unshare_options();
int blacklist_share_command(const Arguments& arguments);
int blacklist_unshare_command(const Arguments& arguments);

// Of a ledger and a job (cli/blacklist_env.cpp).
OptionParser blacklist_env_options();
int blacklist_env_command(const Arguments& arguments);

}  // namespace weft::cli
