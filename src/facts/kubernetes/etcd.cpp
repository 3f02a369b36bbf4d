#include "facts/kubernetes/etcd.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

namespace facts {

namespace {

using base::Tree;

/// A program's output as JSON, or null.
Tree answer_in(const Sections& sections, const std::string& name) {
  const Section* section = sections.find(name);
  if (!section || section->status != 0) return {};
  auto tree = base::json::read(section->text(), name);
  return tree ? std::move(*tree) : Tree();
}

std::string text_of(const Tree& tree, std::string_view key) {
  const Tree* value = tree.find(key);
  return value ? value->text() : std::string();
}

/// 64-bit numbers are strings, and those that are 0 are omitted.
EtcdMember read_member(const Tree& listed, const Sections& sections) {
  EtcdMember member;
  member.name = text_of(listed, "name");
  if (const Tree* urls = listed.find("clientURLs"); urls && !urls->items().empty())
    member.url = urls->items().front().text();
  const Tree status = answer_in(sections, "etcd-status/" + member.url);
  member.answers = status.is_map();
  member.version = text_of(status, "version");
  const std::string leader = text_of(status, "leader");
  member.has_leader = !leader.empty() && leader != "0";
  member.leads = member.has_leader && leader == text_of(listed, "ID");
  member.bytes = base::to_int(text_of(status, "dbSize")).value_or(0);
  if (const Tree* errors = status.find("errors"))
    for (const Tree& error : errors->items()) member.errors.push_back(error.text());
  return member;
}

}  // namespace

std::optional<std::vector<EtcdMember>> read_etcd_members(const Sections& sections) {
  const Tree answer = answer_in(sections, "etcd-members");
  const Tree* listed = answer.find("members");
  if (!listed) return std::nullopt;
  std::vector<EtcdMember> members;
  for (const Tree& one : listed->items()) members.push_back(read_member(one, sections));
  return members;
}

}  // namespace facts
