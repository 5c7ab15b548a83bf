laws::obey("lawful", lawful(), 1);
lawless never_obeys;
laws::obey("unmade_lawful", not_made_lawful());
laws::obey("misplaced", misplaced(), 1);
// laws::obey("commented out", lawless(), 1);
