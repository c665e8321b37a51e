// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// table is the rows of a kind, the package and variable that declare them, and the folders of what sets them beside those that all
// kinds share.
type table struct {
	kind              string
	rows              []common.Reason
	declared, in      string
	setBy             []string
	hasSuspend, waits bool
}

var tables = []table{
	{"ExternalService", networkingv1.Reasons, "api/networking/v1", "Reasons", []string{"controllers/externalservice"}, true, true},
	{"RebootPolicy", autorebootv1.Reasons, "api/autoreboot/v1", "Reasons",
		[]string{"controllers/rebootpolicy", "controllers/clusterrebootpolicy"}, true, true},
	{"ClusterRebootPolicy", autorebootv1.ClusterReasons, "api/autoreboot/v1", "ClusterReasons",
		[]string{"controllers/clusterrebootpolicy"}, false, false},
	{"ChaosPod", chaosv1.Reasons, "api/chaos/v1", "Reasons", []string{"controllers/chaospod"}, true, true},
	{"operator", common.OperatorReasons, "api/common", "OperatorReasons", []string{"cmd/fairlead/operator", "webhooks"}, false, false},
}

// TestTheReferenceListsEveryReason writes the page of conditions from the rows.
func TestTheReferenceListsEveryReason(t *testing.T) {
	list := func(is func(place string) bool) func(kind string) (string, error) {
		return func(kind string) (string, error) {
			at := slices.IndexFunc(tables, func(of table) bool { return of.kind == kind })
			if at < 0 {
				return "", fmt.Errorf("no kind %s", kind)
			}
			return listing(tables[at].rows, is), nil
		}
	}
	isEvent := func(place string) bool { return strings.HasPrefix(place, "Event=") }
	isEntry := func(place string) bool { return !strings.Contains(place, "=") }
	const name = "docs/reference/conditions.md"
	written, err := template.New("conditions.md.tmpl").Funcs(template.FuncMap{
		"conditions": list(func(place string) bool { return !isEvent(place) && !isEntry(place) }),
		"entries":    list(isEntry), "events": list(isEvent),
	}).ParseFiles("testdata/conditions.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := written.Execute(&page, nil); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(filepath.Join(repository(t), name), []byte(page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, name), page.String()); diff != "" {
		t.Errorf("%s differs from the rows; run in test: go test ./repo -run EveryReason -update (-file +rows):\n%s", name, diff)
	}
}

// listing is a table of the rows that are of some places.
func listing(rows []common.Reason, is func(place string) bool) string {
	var out strings.Builder
	out.WriteString("| reason | of | meaning | what to do |\n| --- | --- | --- | --- |")
	for _, r := range rows {
		var of []string
		for place := range strings.FieldsSeq(r.On) {
			if is(place) {
				of = append(of, "`"+strings.TrimPrefix(place, "Event=")+"`")
			}
		}
		if len(of) == 0 {
			continue
		}
		remedy := r.Remedy
		if r.Verb != "" {
			remedy += " Command: `" + r.Verb + "`."
		}
		fmt.Fprintf(&out, "\n| `%s` | %s | %s | %s |", strings.Join(strings.Fields(r.Name), "`, `"), strings.Join(of, ", "),
			strings.ReplaceAll(r.Meaning, "|", `\|`), remedy)
	}
	return out.String()
}

func TestReasonsAreSentencesAndInstructions(t *testing.T) {
	sentence := regexp.MustCompile(`[.;:] |\.$`)
	for _, of := range tables {
		seen := map[string]bool{}
		for _, r := range of.rows {
			n := len(strings.Fields(r.Meaning))
			if n < 2 || n > 25 || !strings.HasSuffix(r.Meaning, ".") || strings.Contains(r.Meaning, ". ") {
				t.Errorf("%s %s: the meaning must be one sentence of at most 25 words: %q", of.kind, r.Name, r.Meaning)
			}
			for _, part := range sentence.Split(r.Remedy, -1) {
				if len(strings.Fields(part)) > 25 {
					t.Errorf("%s %s: a sentence has at most 25 words: %q", of.kind, r.Name, part)
				}
			}
			isSentence := strings.HasSuffix(r.Remedy, ".") && r.Remedy[:1] == strings.ToUpper(r.Remedy[:1])
			if !isSentence && (r.Remedy != "" || r.Verb != "") {
				t.Errorf("%s %s: the remedy must be an instruction: %q", of.kind, r.Name, r.Remedy)
			}
			if strings.Contains(r.On, "Event=Warning") && !strings.Contains(r.On, "Event=Normal") && r.Remedy == "" {
				t.Errorf("%s %s: what does a warning ask for?", of.kind, r.Name)
			}
			for place := range strings.FieldsSeq(r.On) {
				if seen[place+" "+r.Name] {
					t.Errorf("%s: %s of %s has two rows", of.kind, r.Name, place)
				}
				seen[place+" "+r.Name] = true
			}
		}
	}
}

// What a condition means does not depend on the kind: types that several kinds have are declared once, each type but Reconciling and
// Stalled can be other than true, and no reason repeats its type.
func TestConditionsOfTheKindsHaveOneVocabulary(t *testing.T) {
	shared, declared := constantsOf(t, "api/common"), map[string]string{}
	for _, of := range tables[:len(tables)-1] {
		states := map[string]bool{}
		for _, r := range of.rows {
			for place := range strings.FieldsSeq(r.On) {
				condition, status, is := strings.Cut(place, "=")
				switch {
				case !is && slices.Contains([]string{"Address", "Endpoint", "History", "Target", "Trigger"}, place):
				case condition == "Event" && slices.Contains([]string{"Normal", "Warning"}, status):
				case is && slices.Contains([]string{"True", "False", "Unknown"}, status):
					states[condition], states[place], states[place+" "+r.Name] = true, true, true
					if condition == r.Name {
						t.Errorf("%s: the reason of %s repeats its type", of.kind, condition)
					}
					if own := constantsOf(t, of.declared+"/conditions.go")["Condition"+condition]; own != "" && strings.HasPrefix(own, of.declared) {
						if other := declared[condition]; other != "" && other != of.declared {
							t.Errorf("%s declares %s, as %s does: declare it in api/common", of.kind, condition, other)
						}
						declared[condition] = of.declared
					} else if shared["Condition"+condition] == "" {
						t.Errorf("%s: %s is no constant of %s or api/common", of.kind, condition, of.declared)
					}
				default:
					t.Errorf("%s: %s is on %q, which is no condition, Event or entry", of.kind, r.Name, place)
				}
			}
		}
		wanted := []string{"Ready=True", "Ready=False InvalidSpec", "Ready=False WriteRefused", "Stalled=True InvalidSpec"}
		if of.waits {
			wanted = append(wanted, "Waiting=True", "Waiting=False NothingPending")
		}
		if of.hasSuspend {
			wanted = append(wanted, "Suspended=True SuspendedBySpec", "Suspended=False NotSuspended")
		}
		for _, want := range wanted {
			if !states[want] {
				t.Errorf("%s has no %s, as the other kinds have", of.kind, want)
			}
		}
		for condition := range states {
			if strings.ContainsAny(condition, "= ") {
				continue
			}
			isTransient := condition == "Reconciling" || condition == "Stalled"
			if isTransient == (states[condition+"=False"] || states[condition+"=Unknown"]) {
				t.Errorf("%s: %s is absent where nothing is wrong: %t", of.kind, condition, isTransient)
			}
		}
	}
}

// Each constant of reasons.go has a row, each row is of a constant that the code of its kind sets, and no code sets a reason by
// another word.
func TestEachReasonThatIsSetHasARow(t *testing.T) {
	used, words := uses(t)
	for _, of := range tables {
		rows := namesOf(t, of.declared+"/reasons.go", of.in)
		if len(rows) != len(of.rows) {
			t.Fatalf("%s: found %d of %d rows: the search is broken", of.kind, len(rows), len(of.rows))
		}
		for i, names := range rows {
			for _, name := range names {
				if declared, constant, _ := strings.Cut(name, "."); constantsOf(t, declared+"/reasons.go")[constant] == "" {
					continue // a type of a fault or a phase, which is the value of a field
				}
				if !slices.ContainsFunc(used[name], func(folder string) bool {
					return strings.HasPrefix(folder, "internal/") || strings.HasPrefix(folder, "controllers/internal/") ||
						slices.ContainsFunc(of.setBy, func(room string) bool { return strings.HasPrefix(folder+"/", room+"/") })
				}) {
					t.Errorf("%s: no code sets %s (%s): remove the row and the constant", of.kind, of.rows[i].Name, name)
				}
			}
		}
	}
	for _, declared := range []string{"api/networking/v1", "api/autoreboot/v1", "api/chaos/v1", "api/common"} {
		has := map[string]bool{}
		for _, of := range tables {
			for _, names := range namesOf(t, of.declared+"/reasons.go", of.in) {
				for _, name := range names {
					has[name] = true
				}
			}
		}
		constants := constantsOf(t, declared+"/reasons.go")
		if len(constants) < 20 {
			t.Fatalf("%s: %d constants: the search is broken", declared, len(constants))
		}
		for name, constant := range constants {
			if !has[constant] && constant != "api/common.EventProbesBelieved" {
				t.Errorf("%s.%s has no row", declared, name)
			}
		}
	}
	for _, word := range words {
		t.Errorf("%s: use a constant of the API, which has a row", word)
	}
}

// noReasons are words of the code that look like reasons.
var noReasons = []string{
	"ChaosPod", "ClusterRebootPolicy", "CronJob", "DaemonSet", "EndpointSlice", "EndpointSlices", "ExternalService", "NetworkPolicy", "PodDisruptionBudget",
	"PodList", "RebootPolicy", "ReplicaSet", "ServiceAccount", "StatefulSet", // kinds
	"CrashLoopBackOff", "FailedOver", "InjectFault", "LeftOut", "NotFound", "ToBeDeletedByClusterAutoscaler", "TriggerFired",
}

// twoWords is how most reasons are written.
var twoWords = regexp.MustCompile(`^[A-Z][a-z]+[A-Z][A-Za-z]+$`)

// uses returns the constants of the API that code uses other than to compare, with the folders of that code; and where a word is
// a reason and no constant: a text in the place of a reason, or one of two words.
func uses(t *testing.T) (used map[string][]string, words []string) {
	t.Helper()
	used = map[string][]string{}
	constants := map[string]map[string]string{}
	for _, declared := range []string{"api/networking/v1", "api/autoreboot/v1", "api/chaos/v1", "api/common"} {
		constants["github.com/fairlead-dev/fairlead/"+declared] = constantsOf(t, declared)
	}
	for file, source := range code(t) {
		if !strings.HasPrefix(file, "controllers/") && !strings.HasPrefix(file, "internal/") && !strings.HasPrefix(file, "webhooks/") &&
			!strings.HasPrefix(file, "cmd/fairlead/operator/") {
			continue
		}
		positions := token.NewFileSet()
		parsed, err := parser.ParseFile(positions, file, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		imported := map[string]map[string]string{}
		for _, of := range parsed.Imports {
			from, _ := strconv.Unquote(of.Path.Value)
			name := path.Base(from)
			if of.Name != nil {
				name = of.Name.Name
			}
			imported[name] = constants[from]
		}
		compared, ofReason := map[ast.Node]bool{}, map[ast.Node]bool{}
		ast.Inspect(parsed, func(node ast.Node) bool {
			if compared[node] {
				return false
			}
			switch node := node.(type) {
			case *ast.BinaryExpr:
				return node.Op != token.EQL && node.Op != token.NEQ
			case *ast.CaseClause:
				for _, value := range node.List {
					compared[value] = true
				}
			case *ast.ValueSpec: // a state, a verb and an outcome have types of their own
				for _, value := range node.Values {
					compared[value] = node.Type != nil
				}
			case *ast.KeyValueExpr:
				if key, is := node.Key.(*ast.Ident); is && strings.EqualFold(key.Name, "reason") {
					ofReason[node.Value] = true
				}
			case *ast.AssignStmt:
				for i, to := range node.Lhs {
					if of, is := to.(*ast.SelectorExpr); is && of.Sel.Name == "Reason" && len(node.Rhs) == len(node.Lhs) {
						ofReason[node.Rhs[i]] = true
					}
				}
			case *ast.CallExpr:
				if of, is := node.Fun.(*ast.SelectorExpr); is && of.Sel.Name == "Eventf" && len(node.Args) > 3 {
					ofReason[node.Args[3]] = true
				}
			case *ast.SelectorExpr:
				if of, is := node.X.(*ast.Ident); is && imported[of.Name][node.Sel.Name] != "" {
					name := imported[of.Name][node.Sel.Name]
					used[name] = append(used[name], path.Dir(file))
				}
			case *ast.BasicLit:
				word, _ := strconv.Unquote(node.Value)
				isWord := word != "" && ofReason[node] || strings.HasPrefix(file, "controllers/") && twoWords.MatchString(word)
				if node.Kind == token.STRING && isWord && !slices.Contains(noReasons, word) {
					words = append(words, fmt.Sprintf("%s: %q", positions.Position(node.Pos()), word))
				}
			}
			return true
		})
	}
	return used, words
}

// namesOf returns the constants that are the names of the rows of a variable.
func namesOf(t *testing.T, file, variable string) (rows [][]string) {
	t.Helper()
	constants := constantsOf(t, path.Dir(file))
	names := func(of ast.Node) (found []string) {
		ast.Inspect(of, func(node ast.Node) bool {
			if name, is := node.(*ast.Ident); is && constants[name.Name] != "" {
				found = append(found, constants[name.Name])
			}
			return true
		})
		return slices.Compact(found)
	}
	values := valuesOf(t, file)
	list, is := values[variable].(*ast.CompositeLit)
	if !is {
		t.Fatalf("%s has no list %s", file, variable)
	}
	for _, row := range list.Elts {
		if of, is := row.(*ast.SelectorExpr); is { // a row that several kinds have
			const shared = "api/common/reasons.go"
			constants = constantsOf(t, path.Dir(shared))
			row, _ = valuesOf(t, shared)[of.Sel.Name].(*ast.CompositeLit)
		}
		if of, is := row.(*ast.CompositeLit); is {
			for _, field := range of.Elts {
				if field, is := field.(*ast.KeyValueExpr); is && field.Key.(*ast.Ident).Name == "Name" {
					rows = append(rows, names(field.Value))
				}
			}
		}
		constants = constantsOf(t, path.Dir(file))
	}
	return rows
}

// constantsOf returns the constants of text in a file, or in the files of a folder, by their names: the folder and the name of
// each, or of the one that it is the same as.
func constantsOf(t *testing.T, folderOrFile string) map[string]string {
	t.Helper()
	folder := strings.TrimSuffix(folderOrFile, path.Base(folderOrFile))
	if path.Ext(folderOrFile) == "" {
		folder = folderOrFile
	}
	folder = strings.TrimSuffix(folder, "/")
	found, values := map[string]string{}, valuesOf(t, folder)
	for name := range valuesOf(t, folderOrFile) {
		at := name
		for values[at] != nil {
			switch value := values[at].(type) {
			case *ast.BasicLit:
				if value.Kind == token.STRING {
					found[name] = folder + "." + at
				}
			case *ast.Ident:
				at = value.Name
				continue
			case *ast.SelectorExpr:
				found[name] = "api/common." + value.Sel.Name
			}
			break
		}
	}
	return found
}

// parsed are the results of valuesOf.
var parsed = map[string]map[string]ast.Expr{}

// valuesOf returns what the constants and variables of a file, or of the files of a folder, are declared as.
func valuesOf(t *testing.T, folderOrFile string) map[string]ast.Expr {
	t.Helper()
	if parsed[folderOrFile] != nil {
		return parsed[folderOrFile]
	}
	found := map[string]ast.Expr{}
	parsed[folderOrFile] = found
	for file, source := range files(t, []string{folderOrFile}, ".go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			of, is := declaration.(*ast.GenDecl)
			if !is || of.Tok != token.CONST && of.Tok != token.VAR {
				continue
			}
			for _, spec := range of.Specs {
				for i, value := range spec.(*ast.ValueSpec).Values {
					found[spec.(*ast.ValueSpec).Names[i].Name] = value
				}
			}
		}
	}
	return found
}
