#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/sections/section_forms.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace facts {

namespace {

bool is_of(const SectionForm& form, std::string_view name) {
  return form.name.ends_with('*') ? name.starts_with(form.name.substr(0, form.name.size() - 1))
                                  : name == form.name;
}

bool is_in_form(const SectionForm& form, const Section& section) {
  if (!form.fits) return true;
  std::size_t fitting = 0, lines = 0;
  for (const std::string_view line : section.lines) {
    if (base::trim(line).empty()) continue;
    ++lines;
    if (form.fits(line)) ++fitting;
  }
  return lines == 0 || (form.which == SectionForm::Lines::some ? fitting > 0 : fitting == lines);
}

/// Why an existing section could not be read, or nothing.
std::string trouble_of(const Section& section, const SectionForm* form) {
  if (section.cut) return "truncated";
  if (section.status && was_stopped(*section.status)) return "timed out";
  if (section.damaged) return "contains bytes that are not text";
  if (!form) return {};
  const bool needs_status = form->status != SectionForm::Status::none;
  if (needs_status && !section.status) return "no exit status";
  if (form->status == SectionForm::Status::zero && *section.status != 0)
    return fmt::format("exit status {}", *section.status);
  const bool failed = form->status != SectionForm::Status::no_error && section.status.value_or(0) != 0;
  return failed || is_in_form(*form, section) ? std::string() : "unexpected format";
}

}  // namespace

bool was_stopped(int status) {
  return status == 124 || status == 137 || status == 143;
}

std::map<std::string, std::string> unread_of(const Sections& sections, std::span<const SectionForm> forms) {
  std::map<std::string, std::string> unread;
  for (const auto& [name, section] : sections.all()) {
    const auto form = std::ranges::find_if(forms, [&](const SectionForm& one) { return is_of(one, name); });
    if (auto trouble = trouble_of(section, form == forms.end() ? nullptr : &*form); !trouble.empty())
      unread.emplace(name, std::move(trouble));
  }
  return unread;
}

void read_unread(const Sections& sections, Facts& facts) {
  for (auto& [name, trouble] : unread_of(sections, section_forms()))
    facts.unread.insert_or_assign(name, trouble);
  for (const SectionForm& form : section_forms()) {
    if (sections.find(form.name)) continue;
    if (form.is_due && form.is_due(sections, facts))
      facts.unread.emplace(form.name, "missing");
    else if (sections.torn)
      facts.unread.emplace(form.name.substr(0, form.name.find('*')), "the probe's output is damaged");
  }
}

}  // namespace facts
