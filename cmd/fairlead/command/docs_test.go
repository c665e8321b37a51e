// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

const top = "../../../"

// pages are README.md and the pages of docs.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	add := func(path string) error {
		content, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, top)] = string(content)
		return err
	}
	err := add(top + "README.md")
	if err == nil {
		err = filepath.WalkDir(top+"docs", func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case filepath.Ext(path) == ".md":
				return add(path)
			}
			return nil
		})
	}
	if err != nil || len(found) < 30 {
		t.Fatalf("%d pages: %v", len(found), err)
	}
	return found
}

// commandLines are the calls of fairlead in a page: in blocks of a shell, in YAML, and between backquotes.
func commandLines(page string) []string {
	var found []string
	call := regexp.MustCompile(`(?:^|[$|(;&]\s*|(?:run|script|entry):\s*|\x60)(?:\S*/)?(?:kubectl )?fairlead ([^\x60]*)`)
	fence := regexp.MustCompile("(?ms)^ *```(?:console|sh|yaml)\n(.*?)^ *```$")
	var code []string
	for _, block := range fence.FindAllStringSubmatch(page, -1) {
		code = append(code, strings.Split(strings.ReplaceAll(block[1], "\\\n", " "), "\n")...)
	}
	prose := regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(page, "")
	code = append(code, regexp.MustCompile("`fairlead [^`\n]+`|`kubectl fairlead [^`\n]+`").FindAllString(prose, -1)...)
	for _, line := range code {
		for _, m := range call.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
			text := regexp.MustCompile(`\s(#|[|]|\d?>|<|;|&&).*|[;)},].*`).ReplaceAllString(m[1], "")
			if text = strings.TrimSpace(text); text != "" {
				found = append(found, text)
			}
		}
	}
	return found
}

// refused returns why a call would not be understood.
func refused(line string) error {
	root := rootCommand(Options{}.withDefaults())
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	command, rest, err := root.Find(strings.Fields(line))
	if err != nil {
		return err
	}
	if command == root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("there is no command %s", rest[0])
	}
	command.InitDefaultHelpFlag()
	command.InitDefaultVersionFlag()
	if err := command.ParseFlags(slices.DeleteFunc(rest, func(s string) bool { return s == "..." })); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	return nil
}

func TestTheDocumentationCallsCommandsAndFlagsThatExist(t *testing.T) {
	for _, wrong := range []string{"vet --lives", "vett a.yaml", "convert --to", "manager --metric", "elect --lease=a -- b"} {
		if refused(wrong) == nil {
			t.Errorf("%q passes: the search is broken", wrong)
		}
	}
	if got := commandLines("`fairlead vet -o json a`\n```console\n$ helm template x | fairlead vet - >out # all\n$ kubectl fairlead vet \\\n  --live\n```\n"); !slices.Equal(got, []string{"vet -", "vet    --live", "vet -o json a"}) {
		t.Errorf("got %q: the search is broken", got)
	}
	found := 0
	for path, page := range pages(t) {
		for _, line := range commandLines(page) {
			found++
			if err := refused(line); err != nil {
				t.Errorf("%s: fairlead %s: %v", path, line, err)
			}
		}
	}
	if found < 20 {
		t.Errorf("found %d calls: the search is broken", found)
	}
}

func TestManifestsInTheDocumentationPassVet(t *testing.T) {
	block := regexp.MustCompile("(?ms)^( *)(?:```ya?ml|\\$ kubectl apply -f - <<'YAML')\n(.*?)^ *(?:```|YAML)$")
	kinds, complete := regexp.MustCompile(`(?m)^apiVersion: (networking|autoreboot|chaos)\.fairlead\.dev/v`), 0
	whole := regexp.MustCompile(`(?m)^kind: \w+$[\s\S]*^spec:`)
	for path, page := range pages(t) {
		for i, m := range block.FindAllStringSubmatch(page, -1) {
			text := strings.ReplaceAll("\n"+m[2], "\n"+m[1], "\n")
			if !kinds.MatchString(text) || !whole.MatchString(text) {
				continue // of another kind, or an excerpt
			}
			complete++
			file := filepath.Join(t.TempDir(), "manifest.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if code, stdout, stderr := runCommand(t, "vet", file); code != 0 {
				t.Errorf("%s: manifest %d: %s%s", path, i+1, strings.ReplaceAll(stdout, file, "line"), stderr)
			}
		}
	}
	if complete < 10 {
		t.Errorf("found %d manifests: the search is broken", complete)
	}
}

// Parts of the operator's configuration file are blocks all of whose fields are fields of it.
func TestConfigurationInTheDocumentationLoads(t *testing.T) {
	fields := map[string]bool{}
	for field := range reflect.TypeFor[options.Configuration]().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			fields[name] = true
		}
	}
	found := 0
	for path, page := range pages(t) {
		for i, m := range regexp.MustCompile("(?ms)^( *)```ya?ml\n(.*?)^ *```$").FindAllStringSubmatch(page, -1) {
			text := strings.ReplaceAll("\n"+m[2], "\n"+m[1], "\n")
			var keys map[string]any
			if err := yaml.Unmarshal([]byte(text), &keys); err != nil || len(keys) == 0 {
				continue // of several documents, or no object
			}
			whole := keys["kind"] == "FairleadConfiguration"
			delete(keys, "apiVersion")
			delete(keys, "kind")
			part := len(keys) > 0
			for key := range keys {
				part = part && fields[key]
			}
			if !whole && !part {
				continue
			}
			found++
			if !whole {
				text = "apiVersion: config.fairlead.dev/v1alpha1\nkind: FairleadConfiguration\n" + text
			}
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := options.Load(file); err != nil {
				t.Errorf("%s: block %d: %v", path, i+1, err)
			}
		}
	}
	if found < 5 {
		t.Errorf("found %d parts of a configuration: the search is broken", found)
	}
}

// The reference of the command line is made from the commands: run the test with -update to write it.
func TestTheReferenceListsEveryCommand(t *testing.T) {
	const path = top + "docs/reference/cli.md"
	var page bytes.Buffer
	page.WriteString("# Command line\n\n`go test ./cmd/fairlead/command -run Reference -update` writes this page.\n\n" +
		"As `kubectl-fairlead` in the search path, the same program is `kubectl fairlead`. Commands, values of flags, namespaces and the names of objects are " +
		"completed ([how](../guides/convert.md#as-a-plugin-of-kubectl-with-completion)). Objects are `TYPE/NAME` or `TYPE NAME`, as for kubectl.\n\n" +
		"| exit code | meaning |\n| --- | --- |\n| 0 | The command did what you asked, and found nothing wrong. |\n" +
		"| 1 | It found something wrong, or the request was refused or failed. |\n" +
		"| 2 | It could not do it: something cannot be read, it timed out, or a command, flag or argument is wrong. |\n\n" +
		"`elect` exits with the code of the command that it runs, and has its own codes for the rest.\n")
	root := rootCommand(Options{}.withDefaults())
	root.InitDefaultCompletionCmd()
	ofKubectl := kubectlFlags()
	table := func(set *pflag.FlagSet, isShown func(*pflag.Flag) bool) {
		header := "\n| flag | default | |\n| --- | --- | --- |\n"
		set.VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" || !isShown(f) {
				return
			}
			name := "`--" + f.Name + "`"
			if f.Shorthand != "" {
				name = "`-" + f.Shorthand + "`, " + name
			}
			value := ""
			if f.DefValue != "" && f.DefValue != "[]" {
				value = "`" + f.DefValue + "`"
			}
			fmt.Fprintf(&page, "%s| %s | %s | %s |\n", header, name, value, strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(f.Usage))
			header = ""
		})
	}
	var write func(command *cobra.Command)
	write = func(command *cobra.Command) {
		for _, sub := range command.Commands() {
			if !sub.IsAvailableCommand() || sub.Name() == "completion" {
				continue
			}
			fmt.Fprintf(&page, "\n## fairlead %s\n\n%s\n\n```text\n%s\n```\n", strings.TrimPrefix(sub.CommandPath(), "fairlead "), strings.TrimSpace(sub.Short), sub.UseLine())
			if sub.Long != "" {
				fmt.Fprintf(&page, "\n```text\n%s\n```\n", strings.TrimSpace(sub.Long))
			}
			if sub.Example != "" {
				fmt.Fprintf(&page, "\n```text\n%s\n```\n", strings.TrimRight(sub.Example, "\n"))
			}
			table(sub.LocalFlags(), func(f *pflag.Flag) bool {
				usual := ofKubectl.Lookup(f.Name)
				return !f.Hidden && (usual == nil || usual.Usage != f.Usage)
			})
			switch {
			case sub.Name() == "options":
				table(ofKubectl, func(*pflag.Flag) bool { return true })
			case sub.LocalFlags().Lookup("request-timeout") != nil, sub.LocalFlags().Lookup("template") != nil:
				page.WriteString("\nIt also takes the [flags of kubectl](#fairlead-options).\n")
			}
			write(sub)
		}
	}
	write(root)
	if *update {
		if err := os.WriteFile(path, page.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(stored), page.String()); diff != "" {
		t.Errorf("%s is not what the commands say; run: go test ./cmd/fairlead/command -run Reference -update (-file +commands):\n%s", path, diff)
	}
}
